// Cuts a text into fragments of limited length, at the coarsest boundaries that fit.
import { inlineToPostHtml } from '@postern/markup/markdown'
import { countText, countVisible, readAddresses, readGraphemes } from '../html/visible-length.ts'
import { countBeginning } from './count-beginning.ts'

/** Returns the most characters of the piece with this number. Piece 0 is the one already begun. The last piece has the limit `Infinity`. */
export type PieceLimits = (piece: number) => number

export interface Fragment {
  readonly text: string
  readonly length: number
}

/** Cuts a text into one fragment for each piece. The first fragment is empty if nothing fits the rest of the first piece. */
export type Cut = (text: string, limits: PieceLimits) => readonly Fragment[]

/** The units into which texts of one kind are divided, and their lengths. */
interface Grain {
  /** Divides a text into units. Joined, the units are the text again. */
  units(text: string): Iterable<string>
  /** Returns the length of a unit. It may stop once the count exceeds `max`. */
  measure(unit: string, max: number): number
  /** The length of a separator between two units, which is part of neither. */
  readonly gap: number
  /** The cut for a unit that fits no piece. If it is absent, such a unit is a fragment of its own. */
  readonly finer?: Cut | undefined
}

interface Growing {
  text: string
  length: number
}

/** Creates a cut. It adds units to the current piece while they fit, else to the next one. A unit that fits neither is cut by `finer`. */
export function createCut({ units, measure, gap, finer }: Grain): Cut {
  return function cut(text, limits) {
    const fragments: Growing[] = [{ text: '', length: 0 }]
    let from = 0
    for (const unit of units(text)) {
      const last = fragments.at(-1) as Growing
      const at = fragments.length - 1
      const taken = last.text ? last.length + gap : 0
      const left: PieceLimits = piece => limits(at + piece) - (piece === 0 ? taken : 0)
      if (left(0) === Number.POSITIVE_INFINITY) {
        grow(last, text.slice(from), 0)
        break
      }
      const [here, ...more] = fitUnit(unit, left, { measure, finer })
      if (here?.text) grow(last, here.text, taken + here.length)
      fragments.push(...more.map(fragment => ({ ...fragment })))
      from += unit.length
    }
    return fragments
  }
}

function fitUnit(text: string, limits: PieceLimits, { measure, finer }: Pick<Grain, 'measure' | 'finer'>) {
  const [here, next] = [limits(0), limits(1)]
  // The text for the last piece need not be counted in full.
  const length = measure(text, next === Number.POSITIVE_INFINITY ? here : Math.max(here, next))
  const fragment: Fragment = { text, length }
  if (length <= here) return [fragment]
  return length <= next || !finer ? [{ text: '', length: 0 }, fragment] : finer(text, limits)
}

function grow(fragment: Growing, text: string, length: number): void {
  fragment.text += text
  fragment.length = length
}

/** The pattern of a word. In scripts without spaces, a word ends where a sentence ends. */
const plainToken = /[^\s。！？]*[。！？]+|\S+|\s+/gu
/**
 * The pattern of a word or construct of Markdown. A link, code or short emphasis is one token. The text between its marks contains no such mark,
 * so the search for an end runs once.
 */
const inlineToken =
  /\[[^[\]\n]{0,300}\]\([^\s()[\]<>"]{0,2048}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|(?<![*\w])\*[^*\s][^*\n]{0,300}\*|(?<!\w)__?[^_\s][^_\n]{0,300}__?|~~[^~\n]{1,300}~~|[^\s。！？[`*_~]*[。！？]+|[^\s。！？[`*_~]+|\s+|\S/gu
const line = /[^\n]*\n|[^\n]+/g
const blankLine = /^[ \t]*\n$/
const wordEnd = /(?:\s|[。！？])$/u
/** The end of a sentence: a final mark and the closing marks after it, or the end of a line. */
const sentenceEnd = /(?:[.!?…][\p{Pe}\p{Pf}"'*_~`]*\s+|[。！？][\p{Pe}\p{Pf}]*\s*|\n\s*)$/u

/** Yields paragraphs with the blank lines after them. Joined, they are the text again. */
function readParagraphs(text: string): Generator<string> {
  return readUntil(blankLine, readMatches(text, line))
}

/** Yields words with the space after them. Joined, they are the text again. */
function readPlainWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, plainToken))
}

/** Yields words of Markdown. A link or emphasized text that is one token is part of one word. */
function readInlineWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, inlineToken))
}

/** Yields sentences, joined from words. */
function readSentences(words: Iterable<string>): Generator<string> {
  return readUntil(sentenceEnd, words)
}

function* readMatches(text: string, pattern: RegExp): Generator<string> {
  for (const [piece] of text.matchAll(pattern)) yield piece
}

/** Joins pieces up to one whose end matches `end`. */
function* readUntil(end: RegExp, pieces: Iterable<string>): Generator<string> {
  const gathered: string[] = []
  for (const piece of pieces) {
    gathered.push(piece)
    if (end.test(piece)) yield gathered.splice(0).join('')
  }
  if (gathered.length > 0) yield gathered.join('')
}

/** Cuts an overlong word. Addresses in it stay whole, and the rest is cut between grapheme clusters. */
const cutWord = createCut({ units: readWordPieces, measure: countText, gap: 0 })
const cutWords = createCut({ units: readPlainWords, measure: countText, gap: 0, finer: cutWord })

const cutSentences = createCut({
  units: text => readSentences(readPlainWords(text)),
  measure: countText,
  gap: 0,
  finer: cutWords,
})

const cutInlineWords = createCut({ units: readInlineWords, measure: countInline, gap: 0, finer: cutSentences })

/** Cuts plain text: between paragraphs first, then between sentences and lines, then between words. */
export const cutPlain = createCut({ units: readParagraphs, measure: countText, gap: 0, finer: cutSentences })

/** Cuts a paragraph of Markdown. */
export const cutParagraph = createCut({
  units: text => readSentences(readInlineWords(text)),
  measure: countInline,
  gap: 0,
  finer: cutInlineWords,
})

function* readWordPieces(word: string): Generator<string> {
  for (const { text, isWhole } of readAddresses(word)) {
    if (isWhole) yield text
    else yield* readGraphemes(text)
  }
}

/** Counts a text as it is displayed, with the space around it. */
function countInline(text: string, max: number): number {
  const words = text.trim()
  const count = (some: string, most: number) => countVisible(inlineToPostHtml(some), most)
  return countBeginning(words, max, count) + text.length - words.length
}
