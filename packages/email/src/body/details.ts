import type { CalendarEvent } from './calendar.ts'

/** The facts about a mail beside its newest text and its files. */
export interface MailDetails {
  /** Absent where it replaces the text. */
  readonly subject?: string | undefined
  /** Mailboxes in To and Cc, where the agent was not alone there. */
  readonly to?: readonly string[] | undefined
  readonly cc?: readonly string[] | undefined
  /**
   * The person who forwarded the mail unchanged (RFC 5322 §3.6.6). The author is still the sender, and this is as
   * unproven as any field.
   */
  readonly resent_from?: string | undefined
  readonly calendar?: readonly CalendarEvent[] | undefined
  /** The original names of files, by their safe names. */
  readonly file_names?: Readonly<Record<string, string>> | undefined
  /** Invisible characters, removed from the text. */
  readonly invisible_characters?: number | undefined
}
