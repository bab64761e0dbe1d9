// Defines an outgoing mail before it is encoded and signed, and quotes the mail that it answers.
import { plainToMailHtml } from '@postern/markup/markdown'
import type { BytesRef, NormalizedMessage } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import { replaceControls } from '../mail/header-text.ts'

/** A file that goes with the mail. */
export interface MailAttachment {
  readonly name: string
  readonly mime: string
  readonly bytes_ref: Exclude<BytesRef, { kind: 'url' }>
}

/** A response as mail, before it is encoded and signed. Its ids are without brackets. */
export interface OutgoingMail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly from: { readonly name: string; readonly address: string }
  readonly to: { readonly name: string; readonly address: string }
  /** Further people in To, whom the response mentions. */
  readonly alsoTo: readonly string[]
  readonly cc: readonly string[]
  /** The address for replies. It has the tag of the incoming message, so that the next message has the same tag. */
  readonly replyTo: string | undefined
  readonly subject: string
  /** True if the mail answers no message. */
  readonly isLetter: boolean
  readonly messageId: string
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly threadTopic: string | undefined
  readonly threadIndex: string | undefined
  /** The number of agents in the chain up to this mail. `maxHops` is its limit. */
  readonly hop: number
  readonly maxHops: number
  /** The date of the mail, ISO 8601 UTC. */
  readonly date: string
  readonly text: string
  readonly html: string
  readonly attachments: readonly MailAttachment[]
  /** The local agent that is the recipient. It gets the response without mail. */
  readonly localAgent: string | undefined
}

/**
 * The longest quote, in characters. A quote has one level, because the recipients' own programs show the earlier mails.
 */
const maxQuoteChars = 10_000

/** Returns the answered message for a quote below the response, or undefined if it had no text. */
export function quoteMessage(message: Pick<NormalizedMessage, 'parts' | 'sender' | 'received_at'>) {
  const text = message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join('\n\n')
  const quotedText = text.length > maxQuoteChars ? `${text.slice(0, maxQuoteChars).toWellFormed()}…` : text
  if (!quotedText.trim()) return undefined
  const { address, display_name: name } = message.sender
  const senderName = replaceControls(name ?? address.replace(/^@/, ''))
  const attribution = `On ${new Date(message.received_at).toUTCString()}, ${senderName} wrote:`
  const quotedLines = quotedText
    .split('\n')
    .map(line => (line.startsWith('>') ? `>${line}` : `> ${line}`.trimEnd()))
    .join('\n')
  return {
    text: `${attribution}\n${quotedLines}`,
    html: `<p dir="auto">${escapeHtml(attribution)}</p>\n<blockquote type="cite">${plainToMailHtml(quotedText)}</blockquote>`,
  }
}
