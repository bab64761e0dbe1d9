// Writes marks that preserve the meaning of inline elements in plain text.
import type { HtmlAttributes } from '../elements/elements.ts'

/** The operations on an unfinished text that marks need. */
interface MarkedSheet<Bookmark> {
  bookmark(): Bookmark
  textSince(position: Bookmark): string
  replaceSince(position: Bookmark, text: string): void
  /** Returns the character before a bookmark, or an empty string at the beginning. */
  precedingChar(position: Bookmark): string
}

/** A function that writes the text of an element. `precedingChar` is the character before it. */
export type WriteMark = (text: string, precedingChar: string) => string

const strike: WriteMark = text => text.split('\n').map(strikeThroughLine).join('\n')

/** The writers for the text of an element (HTML §4.5.5, §4.5.12, §4.5.19, §4.7.2). */
const writers: ReadonlyMap<string, WriteMark> = new Map([
  ['sup', (text, precedingChar) => (isOrdinal(text, precedingChar) ? text : separateMark('^', text, precedingChar))],
  ['sub', (text, precedingChar) => separateMark('_', text, precedingChar)],
  ['del', strike],
  ['s', strike],
  ['strike', strike],
  ['rt', text => (text.trim() ? `(${text.trim()})` : text)],
])

/** Elements that end a ruby annotation without its end tag (HTML §13.1.2.4). */
const annotationEndingElements: ReadonlySet<string> = new Set(['rt', 'rp', 'rb', 'rtc', 'ruby'])
/** The deepest nesting of marks. Deeper marks are left out, so that each text is rewritten only a few times. */
const maxDepth = 8

/**
 * Creates a writer that follows the elements of a text and writes their marks at their ends. Only elements for which `isMarked` returns true get a
 * mark. `extraMarks` adds marks.
 */
export function createMarkWriter<Bookmark>(
  sheet: MarkedSheet<Bookmark>,
  isMarked: (name: string) => boolean = () => true,
  extraMarks: ReadonlyMap<string, WriteMark> = new Map(),
) {
  const openMarks: { readonly name: string; readonly position: Bookmark }[] = []
  const find = (name: string) => extraMarks.get(name) ?? writers.get(name)

  function end(name: string): void {
    const markIndex = openMarks.findLastIndex(openMark => openMark.name === name)
    for (const closedMark of markIndex < 0 ? [] : openMarks.splice(markIndex).reverse()) {
      const text = sheet.textSince(closedMark.position)
      if (text.trim() === '') continue
      sheet.replaceSince(
        closedMark.position,
        find(closedMark.name)?.(text, sheet.precedingChar(closedMark.position)) ?? text,
      )
    }
  }

  return {
    open(name: string): void {
      if (annotationEndingElements.has(name)) end('rt')
      if (find(name) && isMarked(name) && openMarks.length < maxDepth)
        openMarks.push({ name, position: sheet.bookmark() })
    },
    close(name: string): void {
      if (annotationEndingElements.has(name)) end('rt')
      end(name)
    },
    endAll(): void {
      const [firstMark] = openMarks
      while (openMarks.length > 0) end(openMarks.at(-1)?.name ?? firstMark?.name ?? '')
    },
  }
}

/** Returns true for the ordinal letters of `3rd`, `1er` and `2ème`. */
function isOrdinal(text: string, precedingChar: string): boolean {
  return /\p{N}/u.test(precedingChar) && /^\s*\p{L}+\.?\s*$/u.test(text)
}

/** Puts a mark before an index. Text at the beginning of a word is not an index, and a note in brackets needs no mark. */
function separateMark(mark: string, text: string, precedingChar: string): string {
  const trimmedText = text.trim()
  if (precedingChar === '' || /\s/.test(precedingChar) || trimmedText.startsWith('[')) return text
  const isSingle = /^[+\-\u2212]?[\p{L}\p{N}]+$/u.test(trimmedText) || trimmedText.length === 1
  return mark + (isSingle ? trimmedText : `(${trimmedText})`)
}

/** Strikes a line through, after the quote marks at its beginning. */
function strikeThroughLine(line: string): string {
  const inner = line.trim().replace(/^(?:> ?)+/, '')
  return inner === '' ? line : line.replace(inner, () => `~~${inner}~~`)
}

/** Reads the state of a checkbox or radio button, which is written before its label. Returns undefined for another field. */
export function readCheckMark(attributes: HtmlAttributes): string | undefined {
  const isSet = attributes.has('checked')
  const type = attributes.get('type')?.trim().toLowerCase()
  if (type === 'checkbox') return isSet ? '[x] ' : '[ ] '
  return type === 'radio' ? (isSet ? '(x) ' : '( ) ') : undefined
}

/** Reads the alternative text of a picture (HTML §4.8.4.4). Returns undefined for a tracking pixel, and for a picture without such text. */
export function readAlternative(attributes: HtmlAttributes): string | undefined {
  const isDot = ['width', 'height'].some(name => /^\s*[01](?:px)?\s*$/.test(attributes.get(name) ?? ''))
  const text = attributes.get('alt')?.replace(/\s+/g, ' ').trim()
  return isDot || !text ? undefined : text
}

/** Puts an alternative text in brackets, except an emoji. */
export function bracketAlternative(text: string): string {
  return /^(?:\p{RGI_Emoji}|:\w+:)+$/v.test(text) ? text : `[${text}]`
}
