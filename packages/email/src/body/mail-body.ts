import type { CalendarEvent } from './calendar.ts'

/** A file of a message. */
export interface MailFile {
  readonly name: string
  readonly mime: string
  readonly size: number
  /** SHA-256, lower-case hex. */
  readonly digest: string
  readonly bytes: Uint8Array
  /** Set for a text that is kept as a file: the message with its quotes, the text of the HTML, or the HTML itself. */
  readonly role?: 'full_text' | 'html_text' | 'html_source' | undefined
}

/** The content of a message. */
export interface MailBody {
  /** The newest text, without what it quotes. */
  readonly text: string
  readonly files: readonly MailFile[]
  readonly details: MailDetails
  /** `mime_limits`, `unparsable`, `hidden_text`, … */
  readonly flags: readonly string[]
  /** SHA-256 of the message without the fields hops add, lower-case hex. */
  readonly digest: string
}

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
