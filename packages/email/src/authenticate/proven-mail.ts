// Defines the outcome of verifying a mail: its content together with the judged sender.
import type { MailBody } from '../body/mail-body.ts'
import type { SenderHistory } from '../correspondents/correspondents.ts'
import type { MailAddresses } from '../mail/address-list.ts'
import type { HeaderBlock } from '../mail/header.ts'
import type { RawMail } from '../mail/raw-mail.ts'
import type { AddressedAgent } from '../mail/recipients.ts'
import type { Authentication } from './verdict.ts'

declare const proven: unique symbol

/** A message with a judged sender. Only `verifyMail` makes one. */
export interface ProvenMail {
  readonly [proven]: true
  readonly raw: RawMail
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  /** The header fields that the proof of the author covers, or all of them if there is no proof. */
  readonly signedHeader: HeaderBlock
  /** The people whom the covered fields name. */
  readonly signedRecipients: Pick<MailAddresses, 'to' | 'cc'>
  readonly recipients: readonly AddressedAgent[]
  readonly authentication: Authentication
  readonly body: MailBody
  /** The standing of the author with each agent that the mail came to, by the name of the agent. */
  readonly senderHistories: ReadonlyMap<string, SenderHistory>
  /** The stored form of `raw.octets`, without verdicts of other servers. It is made once for all agents. */
  readonly storedOctets: Uint8Array
  /** The agents that tell the author that they cannot read the mail. */
  readonly unreadable: ReadonlySet<string>
  /** The flags that depend on earlier mail. */
  readonly historyFlags: readonly string[]
  /** All flags of the mail. */
  readonly flags: readonly string[]
}
