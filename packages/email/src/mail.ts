import type { Mailbox } from './addresses.ts'
import type { Authentication } from './authenticate/verdict.ts'
import type { SenderHistory } from './correspondents/correspondents.ts'
import type { HeaderBlock } from './header-scan.ts'
import type { MailBody } from './mime-job.ts'

/** Ways in by which servers of the operator's own bring mail. */
export type MailEndpoint = 'listen' | 'inbound'

/** What the transport says about a message, beside the message. */
export interface MailEnvelopeIn {
  /** MAIL FROM without brackets; empty for the null sender, undefined when the transport did not say. */
  readonly from?: string | undefined
  /** RCPT TO; empty when the transport did not say. */
  readonly to: readonly string[]
  /** The client that brought it to the first server of ours; SPF judges it. */
  readonly ip?: string | undefined
  readonly helo?: string | undefined
  /** The door of ours it came by, where who brings it there speaks for others; undefined where anybody may have brought it. */
  readonly endpoint?: MailEndpoint | undefined
  /** Absent for a door of our own, which keeps every octet. */
  readonly source?: MailSource | undefined
}

/** Somebody who took a mail before us and handed it on in his own form. */
interface MailSource {
  /** `provider:<name>` */
  readonly name: string
  /** Octets may have changed on the way: what does not verify may have been good. */
  readonly isLossy: boolean
  /** He saw DMARC pass for the author, and the operator believes him. */
  readonly hasDmarcPass?: boolean | undefined
}

/** A message as it came, octet by octet. */
export interface RawMail {
  readonly octets: Uint8Array
  readonly envelope: MailEnvelopeIn
  /** ISO 8601 UTC. */
  readonly receivedAt: string
}

/** One of our agents, as an envelope recipient named it. */
export interface Recipient {
  /** The agent's name. */
  readonly agent: string
  /** What stood behind the `+` of the address. */
  readonly tag?: string | undefined
}

/** The address fields of a message, read once. */
export interface MailAddresses {
  /** The one From mailbox. */
  readonly author: Mailbox
  readonly replyTo: readonly Mailbox[]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}

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
  readonly recipients: readonly Recipient[]
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
