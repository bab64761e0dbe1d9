import type { Mailbox } from './mailbox.ts'

/** The address fields of a message, read once. */
export interface MailAddresses {
  /** The one From mailbox. */
  readonly author: Mailbox
  readonly replyTo: readonly Mailbox[]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}
