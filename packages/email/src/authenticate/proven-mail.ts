// Defines the outcome of verifying a mail: its content together with the judged sender.
import type { MailBody } from '../body/mail-body.ts'
import type { SenderHistory } from '../correspondents/correspondents.ts'
import type { MailAddresses } from '../mail/address-list.ts'
import type { HeaderBlock } from '../mail/header.ts'
import type { RawMail } from '../mail/raw-mail.ts'
import type { AddressedAgent } from '../mail/recipients.ts'
import type { Authentication } from './verdict.ts'

declare const provenBrand: unique symbol

/** A message with a judged sender. Only `verifyMail` creates one. */
export interface ProvenMail {
  readonly [provenBrand]: true
  readonly raw: RawMail
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  /** The header fields that the proof of the author covers, or all of them if there is no proof. */
  readonly signedHeader: HeaderBlock
  /** The recipients that the covered fields name. */
  readonly signedRecipients: Pick<MailAddresses, 'to' | 'cc'>
  readonly recipients: readonly AddressedAgent[]
  readonly authentication: Authentication
  readonly body: MailBody
  /** The comparison of the author with the correspondents of each agent, by the name of the agent. */
  readonly senderHistories: ReadonlyMap<string, SenderHistory>
  /** The stored form of `raw.octets`, without verdicts of other servers. It is computed once for all agents. */
  readonly storedOctets: Uint8Array
  /** The agents that notify the author that they cannot read the mail. */
  readonly notifyingAgents: ReadonlySet<string>
  /** The flags that depend on earlier mail. */
  readonly historyFlags: readonly string[]
  /** All flags of the mail. */
  readonly flags: readonly string[]
}
