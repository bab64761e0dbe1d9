// Reads the newest text of a mail, and the other texts that it contains.

import type { HtmlTextOptions } from '@postern/markup/html'
import { htmlToText } from '@postern/markup/html'
import { invisibleFlag, readVisibleText } from '@postern/message/visible-text'
import { readClearSigned } from '../body/clear-signed.ts'
import { mailReading, replyReading, trimReply } from '../body/reply-trim.ts'
import { chooseReading } from '../body/two-readings.ts'
import { hasForwardLine } from '../quoting/separator.ts'
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
  const plainReading = text?.trim() ? readPlain(text, options) : undefined
  if (!html) return finishText(plainReading ?? emptyReading, {}, options)
  const htmlReading = readVisibleHtml(html, mailReading)
  const hiddenFlags = htmlReading.hasHidden ? ['hidden_text'] : []
  if (!plainReading) return finishText(readHtml(html, htmlReading, options), { flags: hiddenFlags }, options)
  const { source, differs, leavesOut } = chooseReading(plainReading.fullText, htmlReading.text)
  const flags = [...(differs ? ['alternative_mismatch'] : []), ...hiddenFlags]
  if (source === 'plain')
    return finishText(plainReading, { flags, ...(leavesOut && { htmlText: htmlReading.text }) }, options)
  return finishText(
    readHtml(html, htmlReading, options),
    { flags, ...(leavesOut && { plainText: plainReading.fullText }) },
    options,
  )
}

/** One of the two readings of a mail. */
interface TextReading {
  readonly fullText: string
  /** The text without the lines that the program itself marks as quoted. */
  readonly unquotedText?: string | undefined
  /** True for a forwarded mail, which is about its quotes. */
  readonly keepsAll: boolean
  readonly invisible: number
}

const emptyReading: TextReading = { fullText: '', keepsAll: true, invisible: 0 }

function readPlain(text: string, { keepsQuotes }: BodyOptions): TextReading {
  const { text: visible, removedCount: invisible } = readVisibleText(text.replace(/\r\n?/g, '\n'))
  return { fullText: visible.trim(), keepsAll: keepsQuotes, invisible }
}

/**
 * Reads the visible text of HTML. Newsletters fill paragraphs with invisible characters, so the blank lines that these leave behind are removed too.
 */
function readVisibleHtml(html: string, htmlOptions: HtmlTextOptions) {
  const { text: htmlText, hasHidden } = htmlToText(html, htmlOptions)
  const { text, removedCount } = readVisibleText(htmlText)
  return { text: removedCount > 0 ? text.replace(/\n{3,}/g, '\n\n').trim() : text, hasHidden, invisible: removedCount }
}

function readHtml(
  html: string,
  { text: fullText, invisible }: ReturnType<typeof readVisibleHtml>,
  { keepsQuotes }: BodyOptions,
): TextReading {
  const keepsAll = keepsQuotes || hasForwardLine(fullText)
  return {
    fullText,
    unquotedText: keepsAll ? fullText : readVisibleHtml(html, replyReading).text || fullText,
    keepsAll,
    invisible,
  }
}

function finishText(
  { fullText, unquotedText = fullText, keepsAll, invisible }: TextReading,
  { flags = [], ...otherTexts }: Partial<Pick<MailText, 'htmlText' | 'plainText' | 'flags'>>,
  { limits }: BodyOptions,
): MailText {
  const { text, isSigned } = readClearSigned(unquotedText)
  const newestText = keepsAll ? text.trim() : trimReply(text.trim())
  const maxChars = limits.text_chars
  return {
    text: newestText.slice(0, maxChars),
    ...((fullText !== newestText || newestText.length > maxChars) && { fullText }),
    ...otherTexts,
    invisible,
    flags: [
      ...flags,
      ...(invisible > 0 ? [invisibleFlag] : []),
      ...(newestText.length > maxChars ? ['text_cut'] : []),
      ...(isSigned ? ['pgp_signed'] : []),
    ],
  }
}
