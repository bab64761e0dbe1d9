// Counts the characters of text and HTML as Mastodon counts them.
import { tokenizeHtml } from '@postern/markup/html'
import { lazy } from '@postern/message/lazy'

/** The characters that every URL counts for, regardless of its length (Mastodon's `characters_reserved_per_url`). */
const urlChars = 23
/** The length of a list mark: a bullet and its space, or a number of one digit. */
const markChars = 2
/** Matches text that Mastodon does not count character by character: URLs, as our HTML writers recognize them, and `@user@host`. */
const specialTokenPattern =
  /(?<url>https?:\/\/[^\s<>"'`\\\][{}|^]{0,2047}[^\s<>"'`\\\][{}|^.,;:!?*_~)])|(?<![=/\w])(?<person>@\w[\w.-]{0,63})@\w(?:[\w.-]{0,252}\w)?/giu

/**
 * Counts the length of a text as Mastodon does (`StatusLengthValidator`). It counts grapheme clusters, so that a letter with its accents or a
 * family of emoji is one. A URL counts as 23, and `@user@host` only as its `@user`. It stops once the count exceeds `maxCount`.
 */
export function countText(text: string, maxCount = Number.POSITIVE_INFINITY): number {
  let count = 0
  let position = 0
  for (const { 0: match, index, groups } of text.matchAll(specialTokenPattern)) {
    count += countGraphemes(text.slice(position, index), maxCount - count) + (groups?.person?.length ?? urlChars)
    if (count > maxCount) return count
    position = index + match.length
  }
  return count + countGraphemes(text.slice(position), maxCount - count)
}

/**
 * Counts the length of HTML as a reader sees it, as if the same text were typed. Ends of lines and paragraphs, and list marks, count too. It
 * stops once the count exceeds `maxCount`.
 */
export function countVisible(html: string, maxCount = Number.POSITIVE_INFINITY): number {
  let count = 0
  readVisibleLines(html, ({ text, marks, breaks }) => {
    count += (count > 0 ? breaks : 0) + marks * markChars + countText(text, maxCount - count)
    return count <= maxCount
  })
  return count
}

/** Yields the URLs and `@user@host` of a text, and the texts between them, in order. Only the texts between them may be cut. */
export function* splitUnbreakable(text: string): Generator<{ readonly text: string; readonly isUnbreakable: boolean }> {
  let position = 0
  for (const { 0: match, index } of text.matchAll(specialTokenPattern)) {
    if (index > position) yield { text: text.slice(position, index), isUnbreakable: false }
    yield { text: match, isUnbreakable: true }
    position = index + match.length
  }
  if (position < text.length) yield { text: text.slice(position), isUnbreakable: false }
}

/** A line of text as a reader sees it. */
interface VisibleLine {
  readonly text: string
  /** The number of line ends since the previous line. */
  readonly breaks: number
  /** The number of list items that begin here. */
  readonly marks: number
}

/** The number of line ends before and after each element. */
const breaksByElement: ReadonlyMap<string, number> = new Map([
  ['br', 1],
  ['li', 1],
  ...'p ul ol blockquote pre h1 h2 h3 h4 h5 h6'.split(' ').map(name => [name, 2] as const),
])

/** Reads the lines of HTML with known elements only, until `onLine` returns false. Lines without text are skipped. */
function readVisibleLines(html: string, onLine: (line: VisibleLine) => boolean): void {
  const pieces: string[] = []
  const pending = { breaks: 0, marks: 0 }
  let preDepth = 0
  let isOver = false

  function endLine(isVerbatim: boolean): void {
    const text = readLine(pieces.splice(0), isVerbatim)
    if (text) isOver = !onLine(finishLine(text, pending))
  }
  function handleTag(name: string, isStart: boolean): void {
    if (!breaksByElement.has(name)) return
    endLine(preDepth > 0)
    addBreak(name, isStart, pending)
    if (name === 'pre') preDepth += isStart ? 1 : -1
  }

  tokenizeHtml(html, {
    text: text => void pieces.push(text),
    open: name => handleTag(name, true),
    close: name => handleTag(name, false),
    isForeign: () => false,
    isOver: () => isOver,
  })
  if (!isOver) endLine(false)
}

interface PendingBreaks {
  breaks: number
  marks: number
}

/** Joins the pieces of a line. Browsers show several spaces as one, and none at the ends. */
function readLine(pieces: readonly string[], isVerbatim: boolean): string {
  const text = pieces.join('')
  return isVerbatim ? text : text.replace(/[ \t\n\r\f]+/g, ' ').trim()
}

function finishLine(text: string, pending: PendingBreaks): VisibleLine {
  const line = { text, ...pending }
  Object.assign(pending, { breaks: 0, marks: 0 })
  return line
}

function addBreak(name: string, isStart: boolean, pending: PendingBreaks): void {
  if (name === 'br') pending.breaks += 1
  else pending.breaks = Math.max(pending.breaks, breaksByElement.get(name) ?? 0)
  if (name === 'li' && isStart) pending.marks += 1
}

const segmenter = lazy(() => new Intl.Segmenter('und', { granularity: 'grapheme' }))
/**
 * Matches text that needs segmenting. Below U+0300 only CR LF forms a cluster of several characters, and it counts as two here. Any other such
 * character can only join a higher one right after it.
 */
const segmentPattern = /[\0-\u02ff]?[^\0-\u02ff]+/g

/** Counts the grapheme clusters (UAX 29) of a text. It stops once the count exceeds `maxCount`. */
function countGraphemes(text: string, maxCount = Number.POSITIVE_INFINITY): number {
  let count = 0
  let position = 0
  for (const { 0: run, index } of text.matchAll(segmentPattern)) {
    count += index - position
    for (const _ of segmenter().segment(run)) {
      count += 1
      if (count > maxCount) return count
    }
    position = index + run.length
  }
  return count + text.length - position
}

/** Yields the grapheme clusters of a text, in order. */
export function* readGraphemes(text: string): Generator<string> {
  for (const { segment } of segmenter().segment(text)) yield segment
}
