// Reads the newest text of a mail, and the other texts that it contains.

import type { HtmlTextOptions } from '@postern/markup/html'
import { htmlToText } from '@postern/markup/html'
import { invisibleFlag, readVisibleText } from '@postern/message/visible-text'
import { chooseReading } from '../body/choose-reading.ts'
import { readClearSignedText } from '../body/clear-signed-text.ts'
import { mailHtmlOptions, replyHtmlOptions, trimReply } from '../body/trim-reply.ts'
import { hasForwardLine } from '../quoting/separator.ts'
import type { BodyOptions } from './job.ts'

/** The texts of a mail in the form of its parts. */
export interface MailTexts {
  readonly text?: string | undefined
  readonly html?: string | false | undefined
}

/** The newest text of a mail, and its other texts. */
export interface MailText {
  /** The newest text, with at most `text_chars` characters. */
  readonly text: string
  /**
   * The whole text of the author with its quotes. It is stored as a file, so its length has no limit. It is absent if
   * it equals the newest text.
   */
  readonly fullText?: string | undefined
  /**
   * The text of the HTML, if the newest text is from the plain text and the HTML has words that the plain text lacks.
   */
  readonly htmlText?: string | undefined
  /** The plain text, if the newest text is from the HTML and the plain text has words that the HTML lacks. */
  readonly plainText?: string | undefined
  /** The number of invisible characters that were removed. */
  readonly invisibleCount: number
  readonly flags: readonly string[]
}

/**
 * Reads the plain text, or the HTML if it says more or is the only text. The result contains the other texts too, so
 * nothing is lost.
 */
export function readMailText({ text, html }: MailTexts, options: BodyOptions): MailText {
  const plainReading = text?.trim() ? readPlain(text, options) : undefined
  if (!html) return finishText(plainReading ?? emptyReading, {}, options)
  const htmlReading = readVisibleHtml(html, mailHtmlOptions)
  const hiddenFlags = htmlReading.hasHiddenText ? ['hidden_text'] : []
  if (!plainReading) return finishText(readHtml(html, htmlReading, options), { flags: hiddenFlags }, options)
  const { source, differs: hasOtherWords, omitsWords } = chooseReading(plainReading.fullText, htmlReading.text)
  const flags = [...(hasOtherWords ? ['alternative_mismatch'] : []), ...hiddenFlags]
  if (source === 'plain')
    return finishText(plainReading, { flags, ...(omitsWords && { htmlText: htmlReading.text }) }, options)
  return finishText(
    readHtml(html, htmlReading, options),
    { flags, ...(omitsWords && { plainText: plainReading.fullText }) },
    options,
  )
}

/** One of the two readings of a mail. */
interface TextReading {
  readonly fullText: string
  /** The text without the quotations that the HTML of the mail program marks. */
  readonly unquotedText?: string | undefined
  /** True for a forwarded mail, which is about its quotes. */
  readonly keepsQuotes: boolean
  readonly invisibleCount: number
}

const emptyReading: TextReading = { fullText: '', keepsQuotes: true, invisibleCount: 0 }

function readPlain(text: string, { keepsQuotes }: BodyOptions): TextReading {
  const { text: visibleText, removedCount: invisibleCount } = readVisibleText(
    text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text,
  )
  return { fullText: visibleText.trim(), keepsQuotes, invisibleCount }
}

/**
 * Reads the visible text of HTML. Newsletters fill paragraphs with invisible characters, so the blank lines that
 * they leave are removed too.
 */
function readVisibleHtml(html: string, htmlOptions: HtmlTextOptions) {
  const { text: htmlText, hasHidden: hasHiddenText } = htmlToText(html, htmlOptions)
  const { text, removedCount } = readVisibleText(htmlText)
  return {
    text: removedCount > 0 ? text.replace(/\n{3,}/g, '\n\n').trim() : text,
    hasHiddenText,
    invisibleCount: removedCount,
  }
}

function readHtml(
  html: string,
  { text: fullText, invisibleCount }: ReturnType<typeof readVisibleHtml>,
  { keepsQuotes }: BodyOptions,
): TextReading {
  const keepsAllText = keepsQuotes || hasForwardLine(fullText)
  return {
    fullText,
    unquotedText: keepsAllText ? fullText : readVisibleHtml(html, replyHtmlOptions).text || fullText,
    keepsQuotes: keepsAllText,
    invisibleCount,
  }
}

function finishText(
  { fullText, unquotedText = fullText, keepsQuotes, invisibleCount }: TextReading,
  { flags = [], ...otherTexts }: Partial<Pick<MailText, 'htmlText' | 'plainText' | 'flags'>>,
  { limits }: BodyOptions,
): MailText {
  const { text, isSigned } = readClearSignedText(unquotedText)
  const newestText = keepsQuotes ? text.trim() : trimReply(text.trim())
  const maxChars = limits.text_chars
  return {
    text: newestText.slice(0, maxChars),
    ...((fullText !== newestText || newestText.length > maxChars) && { fullText }),
    ...otherTexts,
    invisibleCount,
    flags: [
      ...flags,
      ...(invisibleCount > 0 ? [invisibleFlag] : []),
      ...(newestText.length > maxChars ? ['text_cut'] : []),
      ...(isSigned ? ['pgp_signed'] : []),
    ],
  }
}
