import type { MailBody } from '../body/mail-body.ts'
import type { SenderHistory } from '../correspondents/correspondents.ts'
import type { AddressedAgent, MailAddresses } from '../mail/addresses.ts'
import type { HeaderBlock } from '../mail/octets.ts'
import type { RawMail } from '../mail/raw.ts'
import type { Authentication } from './verdict.ts'

declare const proven: unique symbol

/** A message whose sender was judged. Only `verifyMail` makes one. */
export interface ProvenMail {
  readonly [proven]: true
  readonly raw: RawMail
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  /** The header fields that the proof of the author covers; all of it where there is none. */
  readonly covered: HeaderBlock
  /** The people whom those name. */
  readonly named: Pick<MailAddresses, 'to' | 'cc'>
  readonly recipients: readonly AddressedAgent[]
  readonly authentication: Authentication
  readonly body: MailBody
  /** The standing of the author with each agent it came to, by the agent's name. */
  readonly senderHistories: ReadonlyMap<string, SenderHistory>
  /**
   * The stored form of `raw.octets`: all but verdicts that others wrote. Cut out once, however many agents the mail
   * came to.
   */
  readonly keptOctets: Uint8Array
  /** The agents that tell the author that they cannot read it. */
  readonly unreadable: ReadonlySet<string>
  /** Those of its oddities that depend on what had come here before. */
  readonly known: readonly string[]
  /** Its oddities. */
  readonly flags: readonly string[]
}
