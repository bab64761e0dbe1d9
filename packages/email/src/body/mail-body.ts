import type { MailDetails } from './details.ts'

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
