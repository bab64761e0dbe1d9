import {
  continuesHeaderBlock,
  endsInWrote,
  isDelimiterLine,
  namesDevice,
  namesWriter,
  opensHeaderBlock,
  opensIntroduction,
  opensSignature,
  opensWithDate,
  separatesMessages,
} from './reply-words.ts'

/** Only this much is looked at; longer text is handed on whole. */
const [maxChars, maxLines] = [256 * 1024, 5000]
/** An introduction may be wrapped; nobody's is longer. */
const [maxWrapped, maxIntroduction] = [6, 400]
const maxMarkup = 200
/** A mailbox wrapped before its last bracket looks like a quoted line. */
const endsMailbox = /^>\s?(?:wrote|a écrit|schrieb|escribió|skrev|schreef)?\s?:$/i

/** Where the message that is answered begins, and how many lines announce it. */
interface Opening {
  readonly at: number
  readonly lines: number
}

/**
 * The new text of a reply: without the message it answers, the signature and what the program adds. Line by line, and never a
 * line twice as often as it may be wrapped. Whatever is not surely old stays: answers between quoted lines keep everything.
 */
export function trimReply(text: string): string {
  if (text.length > maxChars) return text
  const lines = text.split('\n')
  if (lines.length > maxLines) return text
  const kept = keepNew(lines, findSignature(lines)).join('\n')
  return kept.trim() ? kept.trimEnd() : text
}

function keepNew(all: readonly string[], end: number): readonly string[] {
  // With the quoted lines at its end, which make an introduction of a name and a verb.
  const opening = findOpening(all.slice(0, end))
  const lines = all.slice(0, trimEnd(all, end))
  if (!opening) return lines
  const isFirst = lines.slice(0, opening.at).every(isBlank)
  const after = opening.at + opening.lines
  const answer = findAnswer(lines, after)
  if (isFirst) return lines.slice(answer ?? after).some(line => !isBlank(line)) ? lines.slice(answer ?? after) : all
  // Something new below what was quoted: the two belong together.
  return answer === undefined ? lines.slice(0, trimEnd(lines, opening.at)) : lines
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
  return measureHeaderBlock(lines, at) || measureIntroduction(lines, at, line)
}

/** Outlook quotes without marks, below a block of header lines. */
function measureHeaderBlock(lines: readonly string[], at: number): number {
  if (!opensHeaderBlock.test((lines[at] ?? '').trim())) return 0
  const next = lines.slice(at + 1, at + 5).map(line => line.slice(0, 40).trim())
  return next.filter(line => continuesHeaderBlock.test(line)).length >= 2 ? 1 + next.findIndex(isBlank) || 5 : 0
}

function measureIntroduction(lines: readonly string[], at: number, first: string): number {
  const isDated = opensIntroduction.test(first) || opensWithDate.test(first)
  if (isDated && isBareIntroduction(first)) return 1
  const mayBeWrapped = isDated || /\S@\S|<$/.test(first)
  return mayBeWrapped ? countWrapped(lines, at, isDated) : Number(isWriter(first))
}

function countWrapped(lines: readonly string[], at: number, isDated: boolean): number {
  let joined = ''
  for (let count = 1; count <= maxWrapped && at + count <= lines.length; count += 1) {
    const line = (lines[at + count - 1] ?? '').trim()
    if (isQuote(line)) return 0
    joined = `${joined} ${line}`.trim()
    if (joined.length > maxIntroduction) return 0
    if (isIntroduction(joined, isDated) && (/[\d@]/.test(joined) || isQuoteNext(lines, at + count))) return count
  }
  return 0
}

/** A name and a verb alone announce something only when it follows. */
function isQuoteNext(lines: readonly string[], from: number): boolean {
  return isQuote(lines.slice(from, from + 3).find(line => !isBlank(line)) ?? '')
}

function isIntroduction(text: string, isDated: boolean): boolean {
  if (endsInWrote.test(text.slice(-60))) return isDated || text.includes('@')
  if (!text.endsWith(':')) return false
  return (namesWriter.test(text) && /\d/.test(text)) || (opensWithDate.test(text) && text.endsWith('>:'))
}

/** Some programs end it without a colon: a date and time with a name, or a date with a mailbox. */
function isBareIntroduction(line: string): boolean {
  return (
    opensWithDate.test(line) &&
    (/\d:\d\d (?:GMT|UTC)\S* \S/.test(line) || /^[\d/.-]+ [^<>]{1,80}<\S+@\S+>:?$/.test(line))
  )
}

/** `понедельник, 6 октября 2014 г. … написал:` and the like: a date somewhere, and the word at the end. */
function isWriter(line: string): boolean {
  return endsInWrote.test(line.slice(-60)) && /\d/.test(line)
}

/** Index of the signature; the number of lines where there is none. */
function findSignature(lines: readonly string[]): number {
  const at = lines.findIndex((line, index) => opensSignature.test(line) && !lines.slice(0, index).every(isBlank))
  return at < 0 ? lines.length : at
}

/** Takes away what ends a message and is none of it: blank lines, marks, the names of devices, and quoted lines. */
function trimEnd(lines: readonly string[], end: number): number {
  let at = end
  while (at > 0 && isIdle(lines[at - 1] ?? '')) at -= 1
  return at > 0 ? at : end
}

function isIdle(line: string): boolean {
  return (
    isBlank(line) ||
    isQuote(line) ||
    (line.length < maxMarkup && (isDelimiterLine.test(line) || namesDevice.test(line)))
  )
}

function isQuote(line: string): boolean {
  return /^\s?>/.test(line) && !endsMailbox.test(line)
}

function isBlank(line: string): boolean {
  return line.trim() === ''
}
