// Finds the newest text of a reply.
import type { HtmlAttributes, HtmlTextOptions } from '@postern/markup/html'
import { isDeviceLine } from '../quoting/device-line.ts'
import { measureHeaderBlock } from '../quoting/header-block.ts'
import { measureIntroduction } from '../quoting/introduction.ts'
import { findAbove, isBlank, isDelimiterLine, isQuotedLine } from '../quoting/quoted-line.ts'
import { isForwardLine, isSeparator } from '../quoting/separator.ts'

/** The longest text that is trimmed. Longer text is returned whole. */
const [maxChars, maxLines] = [256 * 1024, 5000]
/** The longest line that can announce another message, in characters. */
const maxIntroductionChars = 400

/** The line where the answered message begins, and the number of lines that announce it. */
interface QuotationStart {
  readonly index: number
  readonly lineCount: number
}

/**
 * Returns the new text of a reply without the answered message, the signature and the additions of programs. It reads line by line, and a line at
 * most as often as an introduction may be wrapped. Text is removed only if it is certainly old. Answers between quoted lines keep everything, and so
 * does forwarded text.
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
  // The lines include the quoted lines at their end, because these make an introduction of a name and a verb.
  const quotationStart = findQuotationStart(allLines.slice(0, signatureIndex))
  const forwardIndex = allLines.findIndex(isForwardLine)
  if (forwardIndex >= 0 && (!quotationStart || forwardIndex <= quotationStart.index)) return allLines
  const end = trimEnd(allLines, signatureIndex)
  if (!quotationStart) return allLines.slice(0, endAfterOwnQuote(allLines, end))
  const lines = allLines.slice(0, end)
  const beginsWithQuotation = lines.slice(0, quotationStart.index).every(isBlank)
  const introductionEnd = quotationStart.index + quotationStart.lineCount
  const answerIndex = findAnswer(lines, introductionEnd)
  if (beginsWithQuotation)
    return lines.slice(answerIndex ?? introductionEnd).some(line => !isBlank(line))
      ? lines.slice(answerIndex ?? introductionEnd)
      : allLines
  // New text below a quotation belongs together with it.
  return answerIndex === undefined ? lines.slice(0, trimAdded(lines, quotationStart.index)) : lines
}

/** Finds the first line of new text below quoted lines. It returns undefined if no line is marked as quoted, or if nothing follows. */
function findAnswer(lines: readonly string[], start: number): number | undefined {
  let hasQuote = false
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (isQuotedLine(line)) hasQuote = true
    else if (!isBlank(line)) return hasQuote ? index : undefined
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

/** Returns the number of lines from this one on that announce another message, or 0 if they announce none. */
function countIntroductionLines(lines: readonly string[], index: number): number {
  const line = (lines[index] ?? '').trim()
  if (!line || line.length > maxIntroductionChars) return 0
  if (isSeparator(line)) return 1
  if (isQuotedLine(line)) return 0
  return measureHeaderBlock(lines, index) || measureIntroduction(lines, index)
}

/** The marks of a signature. RFC 3676 §4.3 requires a space after the dashes, but editors remove it, or turn two dashes into one. */
const [signatureMark, standardSignatureMark] = [/^(?:--|—|––)\s*$/, /^-- $/]
/**
 * The maximum numbers of lines in a signature. Below a mark that is not the standard one the smaller number counts, and sentences are not allowed.
 */
const [maxSignatureLines, maxLooseSignatureLines] = [20, 8]

/** Returns the index of the signature, or the number of lines if there is none. */
function findSignature(lines: readonly string[]): number {
  const last = lines.length
  for (let index = lines.findIndex(line => !isBlank(line)) + 1; index > 0 && index < last; index += 1) {
    if (signatureMark.test(lines[index] ?? '') && isSignature(lines, index)) return index
  }
  return last
}

function isSignature(lines: readonly string[], index: number): boolean {
  const signature = listSignatureLines(lines, index)
  if (signature.length > maxSignatureLines) return false
  if (standardSignatureMark.test(lines[index] ?? '')) return true
  if (signature.length > maxLooseSignatureLines || signature.some(isSentence)) return false
  return isQuotedLine(findAbove(lines, index)) || (isBlank(lines[index - 1] ?? '') && namesPerson(signature))
}

/** Lists the lines between the mark and the quotation below it, or the end. */
function listSignatureLines(lines: readonly string[], index: number): readonly string[] {
  const signature: string[] = []
  for (let next = index + 1; next < lines.length && signature.length <= maxSignatureLines; next += 1) {
    const line = lines[next] ?? ''
    if (isQuotedLine(line) || countIntroductionLines(lines, next) > 0) break
    if (!isBlank(line)) signature.push(line.trim())
  }
  return signature
}

/**
 * Returns true if a signature begins with a name of several words or contains contact data. A list that continues below a line of dashes has neither.
 */
function namesPerson(signature: readonly string[]): boolean {
  if (signature.length === 0) return true
  const words = (signature[0] ?? '').split(/\s+/)
  const isName =
    words.length >= 2 && words.length <= 5 && words.every(word => /^\p{Lu}[\p{L}\p{M}’'.-]*,?$/u.test(word))
  return isName || signature.some(line => /\S@\S|(?:\+|00)\p{Nd}[\p{Nd} ()/-]{6,}|https?:|www\./u.test(line))
}

/** Returns true for a sentence. Names, places and numbers do not end like one. */
function isSentence(line: string): boolean {
  return /[\p{L})][.?!。？！]$/u.test(line) && line.split(/\s+/).length >= 4
}

/** Returns the end of the message without trailing blank lines, marks, names of devices and quoted lines. */
function trimEnd(lines: readonly string[], end: number): number {
  return trimWhile(end, index => isQuotedLine(lines[index] ?? '') || isAdded(lines, index))
}

/** Returns the end like `trimEnd`, but keeps quoted lines, because above an introduction they are the author's own. */
function trimAdded(lines: readonly string[], end: number): number {
  return trimWhile(end, index => isAdded(lines, index))
}

function trimWhile(end: number, isRemovable: (index: number) => boolean): number {
  let index = end
  while (index > 0 && isRemovable(index - 1)) index -= 1
  return index > 0 ? index : end
}

function isAdded(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? ''
  const lineAbove = lines[index - 1] ?? ''
  const isBelowText = !isBlank(lineAbove) && !isDelimiterLine(lineAbove)
  return isBlank(line) || isDelimiterLine(line) || isDeviceLine({ line, isBelowText })
}

/** Returns the end of the text with the quoted lines that the author shows: those that the line above announces, or that follow it without a gap. */
function endAfterOwnQuote(lines: readonly string[], end: number): number {
  const isShown = isQuotedLine(lines[end] ?? '') || /[:：]\s*$/.test(lines[end - 1] ?? '')
  const followingLines = lines.slice(end)
  if (!isShown || !followingLines.some(isQuotedLine)) return end
  return trimAdded(lines, lines.length)
}

/** Matches the class of elements that mail programs put around the answered message instead of `blockquote`. */
const quotingClass = /(?:^|\s)yahoo_quoted(?:\s|$)/i
/** Matches the id of elements after which Outlook quotes to the end of the mail. */
const quotingId = /^(?:x_)*(?:appendonsend|divRplyFwdMsg)$/i

/** The options for reading the HTML of mail. Quotations keep a mark on each line, so that answers between them are found. */
export const mailReading: HtmlTextOptions = {
  isQuote: (_, attributes) => quotingClass.test(attributes.get('class') ?? ''),
}

/** Matches the class of the line above a quotation. */
const introducingClass = /(?:^|\s)(?:moz-cite-prefix|gmail_attr)(?:\s|$)/i

/** The options for the newest text of a reply. They also leave out the introduction of a quotation, and everything after Outlook's mark. */
export const replyReading: HtmlTextOptions = { ...mailReading, omit: omitAnswered }

function omitAnswered(_: string, attributes: HtmlAttributes): 'element' | 'rest' | undefined {
  if (quotingId.test(attributes.get('id') ?? '')) return 'rest'
  return introducingClass.test(attributes.get('class') ?? '') ? 'element' : undefined
}
