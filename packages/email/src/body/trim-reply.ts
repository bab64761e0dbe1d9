// Removes the answered message, the signature and the additions of programs from the text of a reply.
import type { HtmlAttributes, HtmlTextOptions } from '@postern/markup/html'
import { isDeviceLine } from '../quoting/device-line.ts'
import { measureHeaderBlock } from '../quoting/header-block.ts'
import { measureIntroduction } from '../quoting/introduction.ts'
import { findAbove, isBlank, isDelimiterLine, isQuotedLine } from '../quoting/quoted-line.ts'
import { isForwardLine, isSeparator } from '../quoting/separator.ts'

/** The longest text that is trimmed, in characters and in lines. Longer text is returned unchanged. */
const [maxChars, maxLines] = [256 * 1024, 5000]
/** The longest line that can announce another message, in characters. */
const maxIntroductionChars = 400

/** The line where the answered message begins, and the number of lines that announce it. */
interface QuotationStart {
  readonly index: number
  readonly lineCount: number
}

/**
 * Returns the new text of a reply without the answered message, the signature and the additions of programs. It removes
 * only text that is certainly old. A reply with answers between quoted lines stays complete, and so does a mail with
 * forwarded text. The function reads each line at most as often as an introduction may have lines.
 */
export function trimReply(text: string): string {
  if (text.length > maxChars) return text
  const lines = text.split('\n')
  if (lines.length > maxLines) return text
  const newText = selectNewLines(lines).join('\n')
  return newText.trim() ? newText.trimEnd() : text
}

function selectNewLines(allLines: readonly string[]): readonly string[] {
  const signatureIndex = findSignature(allLines)
  // The quoted lines at the end are included, because a name and a verb count as an introduction only above them.
  const quotationStart = findQuotationStart(allLines.slice(0, signatureIndex))
  const forwardIndex = allLines.findIndex(isForwardLine)
  if (forwardIndex >= 0 && (!quotationStart || forwardIndex <= quotationStart.index)) return allLines
  const end = findTextEnd(allLines, signatureIndex)
  if (!quotationStart) return allLines.slice(0, findEndAfterOwnQuote(allLines, end))
  const lines = allLines.slice(0, end)
  const beginsWithQuotation = lines.slice(0, quotationStart.index).every(isBlank)
  const introductionEnd = quotationStart.index + quotationStart.lineCount
  const answerIndex = findAnswerBelowQuote(lines, introductionEnd)
  if (beginsWithQuotation)
    return lines.slice(answerIndex ?? introductionEnd).some(line => !isBlank(line))
      ? lines.slice(answerIndex ?? introductionEnd)
      : allLines
  // New text below a quotation answers the quotation, so both stay.
  return answerIndex === undefined ? lines.slice(0, findEndAboveAdditions(lines, quotationStart.index)) : lines
}

/**
 * Finds the first line of new text below quoted lines. It returns undefined if no line is quoted, or if nothing follows
 * the quoted lines.
 */
function findAnswerBelowQuote(lines: readonly string[], start: number): number | undefined {
  let hasQuotedLine = false
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (isQuotedLine(line)) hasQuotedLine = true
    else if (!isBlank(line)) return hasQuotedLine ? index : undefined
  }
  return undefined
}

function findQuotationStart(lines: readonly string[]): QuotationStart | undefined {
  for (let index = 0; index < lines.length; index += 1) {
    const count = countIntroductionLines(lines, index)
    if (count > 0) return { index, lineCount: count }
  }
  return undefined
}

/** Returns the number of lines, from `index` on, that announce another message. It returns 0 if they announce none. */
function countIntroductionLines(lines: readonly string[], index: number): number {
  const line = (lines[index] ?? '').trim()
  if (!line || line.length > maxIntroductionChars) return 0
  if (isSeparator(line)) return 1
  if (isQuotedLine(line)) return 0
  return measureHeaderBlock(lines, index) || measureIntroduction(lines, index)
}

/**
 * Match the separator line above a signature. RFC 3676 §4.3 requires a space after the dashes, but editors remove the
 * space, or turn two dashes into one.
 */
const [signatureSeparator, standardSignatureSeparator] = [/^(?:--|—|––)\s*$/, /^-- $/]
/**
 * The maximum numbers of lines in a signature. Below a separator that is not the standard one, the smaller number
 * counts, and sentences are not allowed.
 */
const [maxSignatureLines, maxLooseSignatureLines] = [20, 8]

/** Returns the index of the signature, or the number of lines if there is none. */
function findSignature(lines: readonly string[]): number {
  const lineCount = lines.length
  for (let index = lines.findIndex(line => !isBlank(line)) + 1; index > 0 && index < lineCount; index += 1) {
    if (signatureSeparator.test(lines[index] ?? '') && isSignature(lines, index)) return index
  }
  return lineCount
}

function isSignature(lines: readonly string[], index: number): boolean {
  const signatureLines = listSignatureLines(lines, index)
  if (signatureLines.length > maxSignatureLines) return false
  if (standardSignatureSeparator.test(lines[index] ?? '')) return true
  if (signatureLines.length > maxLooseSignatureLines || signatureLines.some(isSentence)) return false
  return isQuotedLine(findAbove(lines, index)) || (isBlank(lines[index - 1] ?? '') && namesPerson(signatureLines))
}

/** Lists the lines between the separator and the quotation below it, or the end of the text. */
function listSignatureLines(lines: readonly string[], index: number): readonly string[] {
  const signatureLines: string[] = []
  for (let next = index + 1; next < lines.length && signatureLines.length <= maxSignatureLines; next += 1) {
    const line = lines[next] ?? ''
    if (isQuotedLine(line) || countIntroductionLines(lines, next) > 0) break
    if (!isBlank(line)) signatureLines.push(line.trim())
  }
  return signatureLines
}

/**
 * Returns true if a signature begins with a name of several words or contains contact data. A list that continues below a line of dashes has neither.
 */
function namesPerson(signatureLines: readonly string[]): boolean {
  if (signatureLines.length === 0) return true
  const words = (signatureLines[0] ?? '').split(/\s+/)
  const isName =
    words.length >= 2 && words.length <= 5 && words.every(word => /^\p{Lu}[\p{L}\p{M}’'.-]*,?$/u.test(word))
  return isName || signatureLines.some(line => /\S@\S|(?:\+|00)\p{Nd}[\p{Nd} ()/-]{6,}|https?:|www\./u.test(line))
}

/** Returns true for a sentence. Names, places and numbers do not end like a sentence. */
function isSentence(line: string): boolean {
  return /[\p{L})][.?!。？！]$/u.test(line) && line.split(/\s+/).length >= 4
}

/** Returns the end of the text without trailing blank lines, lines of marks, device lines and quoted lines. */
function findTextEnd(lines: readonly string[], end: number): number {
  return moveUpWhile(end, index => isQuotedLine(lines[index] ?? '') || isAddition(lines, index))
}

/**
 * Returns the end of the text like `findTextEnd`, but keeps quoted lines, because quoted lines above an introduction
 * are the author's own.
 */
function findEndAboveAdditions(lines: readonly string[], end: number): number {
  return moveUpWhile(end, index => isAddition(lines, index))
}

function moveUpWhile(end: number, isRemovable: (index: number) => boolean): number {
  let index = end
  while (index > 0 && isRemovable(index - 1)) index -= 1
  return index > 0 ? index : end
}

function isAddition(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? ''
  const lineAbove = lines[index - 1] ?? ''
  const isBelowText = !isBlank(lineAbove) && !isDelimiterLine(lineAbove)
  return isBlank(line) || isDelimiterLine(line) || isDeviceLine({ line, isBelowText })
}

/**
 * Returns the end of the text including the quoted lines that the author wants to show. The line above announces such
 * lines, or they follow it without a gap.
 */
function findEndAfterOwnQuote(lines: readonly string[], end: number): number {
  const isShown = isQuotedLine(lines[end] ?? '') || /[:：]\s*$/.test(lines[end - 1] ?? '')
  const followingLines = lines.slice(end)
  if (!isShown || !followingLines.some(isQuotedLine)) return end
  return findEndAboveAdditions(lines, lines.length)
}

/** Matches the class of elements that mail programs put around the answered message instead of `blockquote`. */
const quotingClass = /(?:^|\s)yahoo_quoted(?:\s|$)/i
/** Matches the id of elements after which Outlook quotes to the end of the mail. */
const quotingId = /^(?:x_)*(?:appendonsend|divRplyFwdMsg)$/i

/** The options for reading the HTML of mail. Quoted lines keep their prefix, so that answers between them are found. */
export const mailHtmlOptions: HtmlTextOptions = {
  isQuote: (_, attributes) => quotingClass.test(attributes.get('class') ?? ''),
}

/** Matches the class of the line above a quotation. */
const introducingClass = /(?:^|\s)(?:moz-cite-prefix|gmail_attr)(?:\s|$)/i

/**
 * The options for the newest text of a reply. They also omit the introduction of a quotation, and everything after the
 * element with which Outlook begins a quotation.
 */
export const replyHtmlOptions: HtmlTextOptions = { ...mailHtmlOptions, omit: omitAnsweredMail }

function omitAnsweredMail(_: string, attributes: HtmlAttributes): 'element' | 'rest' | undefined {
  if (quotingId.test(attributes.get('id') ?? '')) return 'rest'
  return introducingClass.test(attributes.get('class') ?? '') ? 'element' : undefined
}
