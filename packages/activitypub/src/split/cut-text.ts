import { inlineToPostHtml } from '@postern/markup/markdown'
import { countText, countVisible, readAddresses, readGraphemes } from '../html/visible-length.ts'

/**
 * The number of characters that the piece with this number holds. Piece 0 is the one already begun; `Infinity` for the
 * last one.
 */
export type PieceLimits = (piece: number) => number

export interface Fragment {
  readonly text: string
  readonly length: number
}

/** Cuts a text into one fragment for each piece. The first is empty when nothing fits the rest of the first piece. */
export type Cut = (text: string, limits: PieceLimits) => readonly Fragment[]

/** How texts of one kind fall apart. */
interface Grain {
  /** Put together they are the text again. */
  units(text: string): Iterable<string>
  /** Length of a unit; counting may stop beyond `max`. */
  measure(unit: string, max: number): number
  /** The length of a separator between two units, which is part of neither. */
  readonly gap: number
  /** For a unit that fits no piece. Without it such a unit is a fragment of its own. */
  readonly finer?: Cut | undefined
}

interface Growing {
  text: string
  length: number
}

/** Units go into the current piece while they fit, else into the next one. A unit that fits neither is cut finer. */
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
      const [here, ...more] = placeUnit(unit, left, { measure, finer })
      if (here?.text) grow(last, here.text, taken + here.length)
      fragments.push(...more.map(fragment => ({ ...fragment })))
      from += unit.length
    }
    return fragments
  }
}

function placeUnit(text: string, limits: PieceLimits, { measure, finer }: Pick<Grain, 'measure' | 'finer'>) {
  const [here, next] = [limits(0), limits(1)]
  // The text for the last piece need not be counted to its end.
  const length = measure(text, next === Number.POSITIVE_INFINITY ? here : Math.max(here, next))
  const whole: Fragment = { text, length }
  if (length <= here) return [whole]
  return length <= next || !finer ? [{ text: '', length: 0 }, whole] : finer(text, limits)
}

function grow(fragment: Growing, text: string, length: number): void {
  fragment.text += text
  fragment.length = length
}

/** In scripts without spaces a word is what ends like a sentence. */
const plainToken = /[^\s。！？]*[。！？]+|\S+|\s+/gu
/**
 * A Markdown construct is one token: a link, code, short emphasis. The text between its marks holds no such mark, so
 * the search for an end runs once.
 */
const inlineToken =
  /\[[^[\]\n]{0,300}\]\([^\s()[\]<>"]{0,2048}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|(?<![*\w])\*[^*\s][^*\n]{0,300}\*|(?<!\w)__?[^_\s][^_\n]{0,300}__?|~~[^~\n]{1,300}~~|[^\s。！？[`*_~]*[。！？]+|[^\s。！？[`*_~]+|\s+|\S/gu
const line = /[^\n]*\n|[^\n]+/g
const blankLine = /^[ \t]*\n$/
const wordEnd = /(?:\s|[。！？])$/u
/** Closing marks come after the one that ends a sentence; a line ends one, too. */
const sentenceEnd = /(?:[.!?…][\p{Pe}\p{Pf}"'*_~`]*\s+|[。！？][\p{Pe}\p{Pf}]*\s*|\n\s*)$/u

/** Paragraphs with the blank lines after them; put together they are the text again. */
function readParagraphs(text: string): Generator<string> {
  return readUntil(blankLine, readMatches(text, line))
}

/** Words with the space after them; put together they are the text again. */
function readPlainWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, plainToken))
}

/** Words of markdown: what is linked or emphasised in one is in one word. */
function readInlineWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, inlineToken))
}

/** Words put together to sentences. */
function readSentences(words: Iterable<string>): Generator<string> {
  return readUntil(sentenceEnd, words)
}

function* readMatches(text: string, pattern: RegExp): Generator<string> {
  for (const [found] of text.matchAll(pattern)) yield found
}

/** Joins pieces up to one that ends as `end` says. */
function* readUntil(end: RegExp, pieces: Iterable<string>): Generator<string> {
  const gathered: string[] = []
  for (const piece of pieces) {
    gathered.push(piece)
    if (end.test(piece)) yield gathered.splice(0).join('')
  }
  if (gathered.length > 0) yield gathered.join('')
}

/** An overlong word: addresses in it stay whole, the rest falls apart between grapheme clusters. */
const cutWord = createCut({ units: readWordPieces, measure: countText, gap: 0 })
const cutWords = createCut({ units: readPlainWords, measure: countText, gap: 0, finer: cutWord })

const cutSentences = createCut({
  units: text => readSentences(readPlainWords(text)),
  measure: countText,
  gap: 0,
  finer: cutWords,
})

const cutInlineWords = createCut({ units: readInlineWords, measure: countInline, gap: 0, finer: cutSentences })

/** Text as it is: paragraphs first, then sentences and lines, then words. */
export const cutPlain = createCut({ units: readParagraphs, measure: countText, gap: 0, finer: cutSentences })

/** A paragraph of markdown. */
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

/** As it will be shown, with the space around it. */
function countInline(text: string, max: number): number {
  const words = text.trim()
  return countVisible(inlineToPostHtml(words), max) + text.length - words.length
}
