// Reads the newest text of a mail, and the other texts that it contains.

import type { HtmlTextOptions } from '@postern/markup/html'
import { htmlToText } from '@postern/markup/html'
import { invisibleFlag, readVisibleText } from '@postern/message/visible-text'
import { readClearSigned } from '../body/clear-signed.ts'
import { mailReading, replyReading, trimReply } from '../body/reply-trim.ts'
import { chooseReading } from '../body/two-readings.ts'
import { holdsForward } from '../quoting/separator.ts'
import type { BodyOptions } from './job.ts'

/** The texts of a mail in the form of its parts. */
export interface MailTexts {
  readonly text?: string | undefined
  readonly html?: string | false | undefined
}

/** The text that an agent reads first, and the others. */
export interface MailText {
  /** The newest text, with at most `text_chars` characters. */
  readonly text: string
  /** The whole text of the author with its quotes, which is stored as a file and so may be long. Absent if it is the same as the newest text. */
  readonly fullText?: string | undefined
  /** The text of the HTML, if the newest text is from the plain text and the HTML says something else. */
  readonly htmlText?: string | undefined
  /** The plain text, if the newest text is from the HTML and the plain text says something else. */
  readonly plainText?: string | undefined
  /** The number of invisible characters that were removed. */
  readonly invisible: number
  readonly flags: readonly string[]
}

/** Reads the plain text, or the HTML if it says more or is the only text. Nothing is lost, because the other texts are returned too. */
export function readMailText({ text, html }: MailTexts, options: BodyOptions): MailText {
  const plain = text?.trim() ? readPlain(text, options) : undefined
  if (!html) return finishText(plain ?? emptyReading, {}, options)
  const read = readVisibleHtml(html, mailReading)
  const hidden = read.hasHidden ? ['hidden_text'] : []
  if (!plain) return finishText(readHtml(html, read, options), { flags: hidden }, options)
  const { from, differs, leavesOut } = chooseReading(plain.full, read.text)
  const flags = [...(differs ? ['alternative_mismatch'] : []), ...hidden]
  if (from === 'plain') return finishText(plain, { flags, ...(leavesOut && { htmlText: read.text }) }, options)
  return finishText(readHtml(html, read, options), { flags, ...(leavesOut && { plainText: plain.full }) }, options)
}

/** One of the two readings of a mail. */
interface Reading {
  readonly full: string
  /** The text without the lines that the program itself marks as quoted. */
  readonly unquoted?: string | undefined
  /** True for a forwarded mail, which is about its quotes. */
  readonly keepsAll: boolean
  readonly invisible: number
}

const emptyReading: Reading = { full: '', keepsAll: true, invisible: 0 }

function readPlain(text: string, { keepsQuotes }: BodyOptions): Reading {
  const { text: visible, removed: invisible } = readVisibleText(text.replace(/\r\n?/g, '\n'))
  return { full: visible.trim(), keepsAll: keepsQuotes, invisible }
}

/**
 * Reads the visible text of HTML. Newsletters fill paragraphs with invisible characters, so the blank lines that these leave behind are removed too.
 */
function readVisibleHtml(html: string, reading: HtmlTextOptions) {
  const { text: written, hasHidden } = htmlToText(html, reading)
  const { text, removed } = readVisibleText(written)
  return { text: removed > 0 ? text.replace(/\n{3,}/g, '\n\n').trim() : text, hasHidden, invisible: removed }
}

function readHtml(
  html: string,
  { text: full, invisible }: ReturnType<typeof readVisibleHtml>,
  { keepsQuotes }: BodyOptions,
): Reading {
  const keepsAll = keepsQuotes || holdsForward(full)
  return { full, unquoted: keepsAll ? full : readVisibleHtml(html, replyReading).text || full, keepsAll, invisible }
}

function finishText(
  { full, unquoted = full, keepsAll, invisible }: Reading,
  { flags = [], ...beside }: Partial<Pick<MailText, 'htmlText' | 'plainText' | 'flags'>>,
  { limits }: BodyOptions,
): MailText {
  const { text, isSigned } = readClearSigned(unquoted)
  const newest = keepsAll ? text.trim() : trimReply(text.trim())
  const maxChars = limits.text_chars
  return {
    text: newest.slice(0, maxChars),
    ...((full !== newest || newest.length > maxChars) && { fullText: full }),
    ...beside,
    invisible,
    flags: [
      ...flags,
      ...(invisible > 0 ? [invisibleFlag] : []),
      ...(newest.length > maxChars ? ['text_cut'] : []),
      ...(isSigned ? ['pgp_signed'] : []),
    ],
  }
}
