import type { HtmlAttributes, HtmlTextOptions } from '@postern/markup/html'
import {
  continuesHeaderBlock,
  endsInWrote,
  isDelimiterLine,
  isForwardLine,
  isTrueSignature,
  namesDevice,
  namesMailbox,
  namesOneself,
  namesSending,
  namesSubject,
  namesTime,
  namesWriter,
  opensHeaderBlock,
  opensIntroduction,
  opensSignature,
  opensWithDate,
  separatesMessages,
} from './reply-words.ts'

/** Only this much is looked at; longer text is handed on whole. */
const [maxChars, maxLines] = [256 * 1024, 5000]
/** An introduction may be wrapped; none is longer. */
const [maxWrapped, maxIntroduction] = [6, 400]
const maxMarkup = 200
/** A mailbox wrapped before its last bracket looks like a quoted line. */
const endsMailbox = /^>\s?(?:wrote|a écrit|schrieb|escribió|skrev|schreef)?\s?:$/i

/** The line where the answered message begins, and the number of lines that announce it. */
interface Opening {
  readonly at: number
  readonly lines: number
}

/**
 * The new text of a reply, without the answered message, the signature and additions of the program. It reads line by
 * line, and no line more often than it may be wrapped. Text stays unless it is surely old. Answers between quoted lines
 * keep everything, and so does forwarded text.
 */
export function trimReply(text: string): string {
  if (text.length > maxChars) return text
  const lines = text.split('\n')
  if (lines.length > maxLines) return text
  const kept = keepNew(lines).join('\n')
  return kept.trim() ? kept.trimEnd() : text
}

function keepNew(all: readonly string[]): readonly string[] {
  const signature = findSignature(all)
  // With the quoted lines at its end, which make an introduction of a name and a verb.
  const opening = findOpening(all.slice(0, signature))
  const forward = all.findIndex(isForwardLine)
  if (forward >= 0 && (!opening || forward <= opening.at)) return all
  const end = trimEnd(all, signature)
  if (!opening) return all.slice(0, keepOwnQuote(all, end))
  const lines = all.slice(0, end)
  const isFirst = lines.slice(0, opening.at).every(isBlank)
  const after = opening.at + opening.lines
  const answer = findAnswer(lines, after)
  if (isFirst) return lines.slice(answer ?? after).some(line => !isBlank(line)) ? lines.slice(answer ?? after) : all
  // Something new below what was quoted: the two belong together.
  return answer === undefined ? lines.slice(0, trimAdded(lines, opening.at)) : lines
}

/** The first line of new text below quoted lines; undefined where nothing was quoted with marks, or nothing follows. */
function findAnswer(lines: readonly string[], from: number): number | undefined {
  let hasQuote = false
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (isQuote(line)) hasQuote = true
    else if (!isBlank(line)) return hasQuote ? at : undefined
  }
  return undefined
}

function findOpening(lines: readonly string[]): Opening | undefined {
  for (let at = 0; at < lines.length; at += 1) {
    const count = measureOpening(lines, at)
    if (count > 0) return { at, lines: count }
  }
  return undefined
}

/** How many lines from here on announce another message; 0 when they do not. */
function measureOpening(lines: readonly string[], at: number): number {
  const line = (lines[at] ?? '').trim()
  if (!line || isQuote(line) || line.length > maxIntroduction) return 0
  if (line.length < maxMarkup && separatesMessages.test(line)) return 1
  return measureHeaderBlock(lines, at) || measureIntroduction(lines, at)
}

/** Fields of a header block that are looked at. */
const maxFields = 6

/**
 * Outlook quotes without marks, below a block of header lines: a name, a subject, or a date and recipients. No text of
 * the author is directly above it.
 */
function measureHeaderBlock(lines: readonly string[], at: number): number {
  const first = (lines[at] ?? '').trim()
  const above = lines[at - 1] ?? ''
  if (!opensHeaderBlock.test(first) || !/\p{L}/u.test(first.replace(opensHeaderBlock, ''))) return 0
  if (!isBlank(above) && !isDelimiterLine.test(above) && !separatesMessages.test(above.trim())) return 0
  const next = lines.slice(at + 1, at + 1 + maxFields).map(line => line.slice(0, 80).trim())
  const end = next.findIndex(isBlank)
  const fields = (end < 0 ? next : next.slice(0, end)).filter(line => continuesHeaderBlock.test(line))
  const isWhole = fields.some(line => namesSubject.test(line)) || fields.some(line => namesSending.test(line))
  return fields.length >= 2 && isWhole ? 1 + (end < 0 ? next.length : end) : 0
}

function measureIntroduction(lines: readonly string[], at: number): number {
  const first = (lines[at] ?? '').trim()
  if (opensWithDate.test(first) && isBareIntroduction(first)) return 1
  const isDated = opensIntroduction.test(first) || opensWithDate.test(first)
  const mayBeWrapped = isDated || /\S@\S|<$/.test(first)
  return countWrapped(lines, at, { isDated, most: mayBeWrapped ? maxWrapped : 1 })
}

function countWrapped(
  lines: readonly string[],
  at: number,
  { isDated, most }: { readonly isDated: boolean; readonly most: number },
): number {
  let joined = ''
  for (let count = 1; count <= most && at + count <= lines.length; count += 1) {
    const line = (lines[at + count - 1] ?? '').trim()
    if (isQuote(line)) return 0
    joined = `${joined} ${line}`.trim()
    if (joined.length > maxIntroduction) return 0
    if (!isIntroduction(joined, isDated)) continue
    if (isByProgram(joined) || isQuoteNext(lines, at + count)) return count
  }
  return 0
}

/** A time of day or a mailbox, and no first person: the text below is a quote, with marks or without. */
function isByProgram(introduction: string): boolean {
  return (namesTime.test(introduction) || namesMailbox.test(introduction)) && !namesOneself.test(introduction)
}

/** A name and a verb alone announce a quote only when one follows, or when nothing does. */
function isQuoteNext(lines: readonly string[], from: number): boolean {
  const next = lines.slice(from, from + 3).find(line => !isBlank(line))
  return next === undefined ? lines.slice(from).every(isBlank) : isQuote(next)
}

function isIntroduction(text: string, isDated: boolean): boolean {
  // In any language: when, who with a mailbox, and a colon.
  if (/[:：]$/.test(text) && namesMailbox.test(text) && namesTime.test(text)) return true
  if (endsInWrote.test(text.slice(-60))) return isDated || text.includes('@') || /\p{Nd}/u.test(text)
  if (!/[:：]$/.test(text)) return false
  return (namesWriter.test(text) && /\p{Nd}/u.test(text)) || (opensWithDate.test(text) && /[>＞][:：]$/.test(text))
}

/** Some programs end it without a colon: a date and time with a name, or a date with a mailbox. */
function isBareIntroduction(line: string): boolean {
  return (
    opensWithDate.test(line) &&
    (/\d:\d\d (?:GMT|UTC)\S* \S/.test(line) || /^[\d/.-]+ [^<>]{1,80}<\S+@\S+>:?$/.test(line))
  )
}

/** Lines of a signature; below a mark that is not the standard's own, fewer, and no sentences. */
const [maxSignature, maxLooseSignature] = [20, 8]

/** Index of the signature; the number of lines where there is none. */
function findSignature(lines: readonly string[]): number {
  const last = lines.length
  for (let at = lines.findIndex(line => !isBlank(line)) + 1; at > 0 && at < last; at += 1) {
    if (opensSignature.test(lines[at] ?? '') && isSignature(lines, at)) return at
  }
  return last
}

/** The lines between the mark and the quote below it. */
function isSignature(lines: readonly string[], at: number): boolean {
  const isTrue = isTrueSignature.test(lines[at] ?? '')
  const most = isTrue ? maxSignature : maxLooseSignature
  let count = 0
  for (let next = at + 1; next < lines.length; next += 1) {
    const line = lines[next] ?? ''
    if (isBlank(line)) continue
    if (isQuote(line) || measureOpening(lines, next) > 0) return true
    count += 1
    if (count > most || (!isTrue && isSentence(line))) return false
  }
  return true
}

/** Names, places and numbers end otherwise. */
function isSentence(line: string): boolean {
  return /[\p{L})][.?!。？！]$/u.test(line.trim()) && line.trim().split(/\s+/).length >= 4
}

/** Removes the end that is no part of the message: blank lines, marks, the names of devices, and quoted lines. */
function trimEnd(lines: readonly string[], end: number): number {
  return trimWhile(lines, end, line => isQuote(line) || isAdded(line))
}

/** The same above what is quoted, where quoted lines are the author's own. */
function trimAdded(lines: readonly string[], end: number): number {
  return trimWhile(lines, end, isAdded)
}

function trimWhile(lines: readonly string[], end: number, isIdle: (line: string) => boolean): number {
  let at = end
  while (at > 0 && isIdle(lines[at - 1] ?? '')) at -= 1
  return at > 0 ? at : end
}

function isAdded(line: string): boolean {
  return isBlank(line) || (line.length < maxMarkup && (isDelimiterLine.test(line) || namesDevice.test(line)))
}

/** Quoted lines that the line above announces, or that follow it without a gap, are what the author shows. */
function keepOwnQuote(lines: readonly string[], end: number): number {
  const isShown = isQuote(lines[end] ?? '') || /[:：]\s*$/.test(lines[end - 1] ?? '')
  const rest = lines.slice(end)
  if (!isShown || !rest.some(isQuote)) return end
  return trimAdded(lines, lines.length)
}

function isQuote(line: string): boolean {
  return /^\s?>/.test(line) && !endsMailbox.test(line)
}

function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** The elements that mail programs put around the answered message, where they do not use `blockquote`. */
const quotingClass = /(?:^|\s)yahoo_quoted(?:\s|$)/i
/** Behind this Outlook quotes, to the end. */
const quotingId = /^(?:x_)*(?:appendonsend|divRplyFwdMsg)$/i

/** How the HTML of mail is read: quotations keep a mark at each line, so that answers between them are found. */
export const mailReading: HtmlTextOptions = {
  isQuote: (_, attributes) => quotingClass.test(attributes.get('class') ?? ''),
}

/** The line above a quotation. */
const introducingClass = /(?:^|\s)(?:moz-cite-prefix|gmail_attr)(?:\s|$)/i

/** The same for the newest text of a reply: without what introduces a quotation, and nothing below the mark of Outlook. */
export const replyReading: HtmlTextOptions = { ...mailReading, omit: omitAnswered }

function omitAnswered(_: string, attributes: HtmlAttributes): 'element' | 'rest' | undefined {
  if (quotingId.test(attributes.get('id') ?? '')) return 'rest'
  return introducingClass.test(attributes.get('class') ?? '') ? 'element' : undefined
}
