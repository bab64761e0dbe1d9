import type { CalendarEvent } from './calendar.ts'

/** What there is to know of a mail beside its newest text and its files. */
export interface MailDetails {
  /** Absent where it stands for the text. */
  readonly subject?: string | undefined
  /** Mailboxes that stood in To and Cc, where the agent was not alone there. */
  readonly to?: readonly string[] | undefined
  readonly cc?: readonly string[] | undefined
  /** Who passed the mail on as it was (RFC 5322 §3.6.6); its author is still the sender, and this is as unproven as any field. */
  readonly resent_from?: string | undefined
  readonly calendar?: readonly CalendarEvent[] | undefined
  /** Names of files as they were written, by the safe names they are kept under. */
  readonly file_names?: Readonly<Record<string, string>> | undefined
  /** Characters that nobody sees, taken out of the text. */
  readonly invisible_characters?: number | undefined
}
