import type { MailAddresses } from '../addresses/mail-addresses.ts'
import type { AddressedAgent } from '../addresses/recipients.ts'
import type { Authentication } from '../authenticate/verdict.ts'
import type { MailBody } from '../body/mail-body.ts'
import type { SenderHistory } from '../correspondents/correspondents.ts'
import type { HeaderBlock } from '../mail/header-scan.ts'
import type { RawMail } from '../mail/raw.ts'

declare const proven: unique symbol

/** A message whose sender was judged. Only `verifyMail` makes one. */
export interface ProvenMail {
  readonly [proven]: true
  readonly raw: RawMail
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  /** What of the header the proof of the author covers; all of it where there is none. */
  readonly covered: HeaderBlock
  /** Whom that names. */
  readonly named: Pick<MailAddresses, 'to' | 'cc'>
  readonly recipients: readonly AddressedAgent[]
  readonly authentication: Authentication
  readonly body: MailBody
  /** What the author is to each agent it came to, by the agent's name. */
  readonly senderHistories: ReadonlyMap<string, SenderHistory>
  /** What is kept of `raw.octets`: all but what others wrote as the verdict of some server. Cut out once, however many agents it came to. */
  readonly keptOctets: Uint8Array
  /** Agents in whose name the author is told that they cannot read it. */
  readonly unreadable: ReadonlySet<string>
  /** What is odd about it. */
  readonly flags: readonly string[]
}
