// Defines the content of a mail: its newest text, files, details and flags.
import type { CalendarEvent } from './calendar.ts'

/** A file of a message. */
export interface MailFile {
  readonly name: string
  readonly mime: string
  readonly size: number
  /** The SHA-256 of the bytes, in lower-case hex. */
  readonly digest: string
  readonly bytes: Uint8Array
  /**
   * The role of a text that is stored as a file: the message with its quotes, the plain or HTML text that was not
   * chosen, or the HTML source. Other files have no role.
   */
  readonly role?: 'full_text' | 'html_text' | 'plain_text' | 'html_source' | undefined
}

/** The content of a message. */
export interface MailBody {
  /** The newest text, without quoted text. */
  readonly text: string
  readonly files: readonly MailFile[]
  readonly details: MailDetails
  /** Flags such as `mime_limits`, `unparsable` and `hidden_text`. */
  readonly flags: readonly string[]
  /** The SHA-256 of the message without the fields that hops add, in lower-case hex. */
  readonly digest: string
}

/** The facts about a mail besides its newest text and its files. */
export interface MailDetails {
  /** The subject. It is absent if it replaces the text. */
  readonly subject?: string | undefined
  /** The mailboxes in To. To and Cc are absent if they have only one mailbox together. */
  readonly to?: readonly string[] | undefined
  readonly cc?: readonly string[] | undefined
  /**
   * The person who forwarded the mail unchanged (RFC 5322 §3.6.6). The author is still the sender, and the name of the
   * forwarder is unproven like any other field.
   */
  readonly resent_from?: string | undefined
  /** The person who gets the response, if a list or a form wrote for them. */
  readonly answer_to?: string | undefined
  readonly calendar?: readonly CalendarEvent[] | undefined
  /** The original names of files, by their safe names. */
  readonly file_names?: Readonly<Record<string, string>> | undefined
  /** The number of invisible characters that were removed from the text. */
  readonly invisible_characters?: number | undefined
}
