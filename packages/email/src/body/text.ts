import { htmlToText } from '@postern/markup/html'
import { readVisibleText } from '../text/visible-text.ts'
import { mailReading, replyReading } from './quoted-html.ts'
import { trimReply } from './reply-trim.ts'
import { holdsForward } from './reply-words.ts'

/** The two readings of a message that a parser found. */
interface MailAlternatives {
  readonly text?: string | undefined
  readonly html?: string | undefined
}

interface TextOptions {
  /** A forwarding is about what it quotes. */
  readonly keepsQuotes: boolean
  readonly maxChars: number
}

/** What an agent reads first, and what else there is. */
export interface MailText {
  /** The newest text, `maxChars` at most. */
  readonly text: string
  /** Everything its author sent, with what it quotes; absent where that is the same. Kept as a file, so that it may be long. */
  readonly fullText?: string | undefined
  /** What the HTML says where it is not what the plain text says. */
  readonly htmlText?: string | undefined
  /** Characters that nobody sees, taken out. */
  readonly invisible: number
  readonly flags: readonly string[]
}

/** The plain text where there is one; the HTML only where there is none. Nothing is lost: what is trimmed stays beside it. */
export function readMailText({ text, html }: MailAlternatives, options: TextOptions): MailText {
  return text?.trim() ? readPlain(text, html, options) : readHtml(html ?? '', options)
}

function readPlain(text: string, html: string | undefined, options: TextOptions): MailText {
  const { text: full, invisible } = readVisibleText(text)
  const other = html ? htmlToText(html, mailReading) : { text: '', hasHidden: false }
  const newest = options.keepsQuotes ? full : trimReply(full)
  const hidden = other.hasHidden ? ['hidden_text'] : []
  if (!saysElse(full, other.text)) return finishText({ full, newest, invisible, flags: hidden }, options)
  const flags = ['alternative_mismatch', ...hidden]
  return finishText({ full, newest, invisible, htmlText: other.text, flags }, options)
}

function readHtml(html: string, options: TextOptions): MailText {
  const { text: full, hasHidden, invisible } = htmlToText(html, mailReading)
  const newest =
    options.keepsQuotes || holdsForward(full) ? full : trimReply(htmlToText(html, replyReading).text || full)
  return finishText({ full, newest, invisible, flags: hasHidden ? ['hidden_text'] : [] }, options)
}

interface FoundText extends Pick<MailText, 'htmlText' | 'invisible' | 'flags'> {
  readonly full: string
  readonly newest: string
}

function finishText({ full, newest, invisible, htmlText, flags }: FoundText, { maxChars }: TextOptions): MailText {
  return {
    text: newest.slice(0, maxChars),
    ...((full !== newest || newest.length > maxChars) && { fullText: full }),
    ...(htmlText && { htmlText }),
    invisible,
    flags: [
      ...flags,
      ...(invisible > 0 ? ['invisible_characters'] : []),
      ...(newest.length > maxChars ? ['text_cut'] : []),
    ],
  }
}

/** Words compared, and of how many in common two readings of one message are taken to say the same. */
const [maxWords, enoughWords, commonShare] = [2000, 5, 0.3]

/** Do two readings have hardly a word in common? Short ones may differ. */
function saysElse(text: string, other: string): boolean {
  const [words, others] = [listWords(text), listWords(other)]
  const smaller = Math.min(words.size, others.size)
  if (smaller < enoughWords) return false
  let common = 0
  for (const word of words) if (others.has(word)) common += 1
  return common < smaller * commonShare
}

function listWords(text: string): Set<string> {
  const words =
    text
      .slice(0, 64 * 1024)
      .toLowerCase()
      .match(/[\p{L}\p{N}]{4,40}/gu) ?? []
  return new Set(words.slice(0, maxWords))
}
