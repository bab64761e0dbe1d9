import type { BytesRef, NormalizedMessage } from '@postern/core'
import { escapeHtml } from '@postern/core/html-characters'
import { plainToMailHtml } from '@postern/markup/markdown'
import { withoutControls } from '../mail/addresses.ts'

/** A file that goes with the mail. */
export interface MailAttachment {
  readonly name: string
  readonly mime: string
  readonly bytes_ref: Exclude<BytesRef, { kind: 'url' }>
}

/** An answer as mail, before it is encoded and signed. Ids without brackets. */
export interface MailWire {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly from: { readonly name: string; readonly address: string }
  readonly to: { readonly name: string; readonly address: string }
  /** Further people who are spoken to. */
  readonly alsoTo: readonly string[]
  readonly cc: readonly string[]
  /** With the tag the message came with, so that the next one brings it back. */
  readonly replyTo: string | undefined
  readonly subject: string
  /** It answers nothing. */
  readonly isLetter: boolean
  readonly messageId: string
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly threadTopic: string | undefined
  readonly threadIndex: string | undefined
  /** How many agents have had a hand in it, this one counted, and how many may. */
  readonly hop: number
  readonly maxHops: number
  /** ISO 8601 UTC. */
  readonly date: string
  readonly text: string
  readonly html: string
  readonly attachments: readonly MailAttachment[]
  /** The local agent that it is for: no mail is sent. */
  readonly localAgent: string | undefined
}

/** One level, as people do it; more is in their own programs. */
const maxQuoted = 10_000

/** The answered message, for a quote below the answer; undefined when it had no text. */
export function quoteMessage(message: Pick<NormalizedMessage, 'parts' | 'sender' | 'received_at'>) {
  const said = message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join('\n\n')
  const kept = said.length > maxQuoted ? `${said.slice(0, maxQuoted)}…` : said
  if (!kept.trim()) return undefined
  const { address, display_name: name } = message.sender
  const who = withoutControls(name ?? address.replace(/^@/, ''))
  const line = `On ${new Date(message.received_at).toUTCString()}, ${who} wrote:`
  const quoted = kept
    .split('\n')
    .map(each => (each.startsWith('>') ? `>${each}` : `> ${each}`.trimEnd()))
    .join('\n')
  return {
    text: `${line}\n${quoted}`,
    html: `<p dir="auto">${escapeHtml(line)}</p>\n<blockquote type="cite">${plainToMailHtml(kept)}</blockquote>`,
  }
}
