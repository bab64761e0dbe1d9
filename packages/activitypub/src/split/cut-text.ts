// Cuts a text into fragments of limited length, at the coarsest boundaries that fit.
import { inlineToPostHtml } from '@postern/markup/markdown'
import { countText, countVisible, readGraphemes, splitUnbreakable } from '../html/visible-length.ts'
import { countPrefix } from './count-prefix.ts'

/** A function that returns the most characters of a piece. Piece 0 already has some text. The last piece has no maximum (`Infinity`). */
export type MaxCharsOfPiece = (piece: number) => number

export interface Fragment {
  readonly text: string
  readonly length: number
}

/** A function that cuts a text into one fragment for each piece. The first fragment is empty if nothing fits into the remaining space of piece 0. */
export type Cut = (text: string, limits: MaxCharsOfPiece) => readonly Fragment[]

/** The units into which texts of one kind are divided, and their lengths. */
interface CutOptions {
  /** Divides a text into units. Joined, the units are the text again. */
  split(text: string): Iterable<string>
  /** Returns the length of a unit. It may stop once the count exceeds `max`. */
  measure(unit: string, max: number): number
  /** The length of the separator between two units, which belongs to neither unit. */
  readonly separatorLength: number
  /** The cut for a unit that fits no piece. If it is absent, such a unit is a fragment of its own. */
  readonly cutOversized?: Cut | undefined
}

interface GrowingFragment {
  text: string
  length: number
}

/** Creates a cut. It adds units to the current piece while they fit, else to the next one. A unit that fits neither of them is cut by `cutOversized`. */
export function createCut({ split, measure, separatorLength, cutOversized }: CutOptions): Cut {
  return function cut(text, limits) {
    const fragments: GrowingFragment[] = [{ text: '', length: 0 }]
    let unitStart = 0
    for (const unit of split(text)) {
      const lastFragment = fragments.at(-1) as GrowingFragment
      const lastIndex = fragments.length - 1
      const usedLength = lastFragment.text ? lastFragment.length + separatorLength : 0
      const remainingLimits: MaxCharsOfPiece = piece => limits(lastIndex + piece) - (piece === 0 ? usedLength : 0)
      if (remainingLimits(0) === Number.POSITIVE_INFINITY) {
        extendFragment(lastFragment, text.slice(unitStart), 0)
        break
      }
      const [fittingPart, ...otherFragments] = fitUnit(unit, remainingLimits, { measure, cutOversized })
      if (fittingPart?.text) extendFragment(lastFragment, fittingPart.text, usedLength + fittingPart.length)
      fragments.push(...otherFragments.map(fragment => ({ ...fragment })))
      unitStart += unit.length
    }
    return fragments
  }
}

function fitUnit(
  text: string,
  limits: MaxCharsOfPiece,
  { measure, cutOversized }: Pick<CutOptions, 'measure' | 'cutOversized'>,
) {
  const [currentLimit, nextLimit] = [limits(0), limits(1)]
  // The text for the last piece need not be counted in full.
  const length = measure(
    text,
    nextLimit === Number.POSITIVE_INFINITY ? currentLimit : Math.max(currentLimit, nextLimit),
  )
  const fragment: Fragment = { text, length }
  if (length <= currentLimit) return [fragment]
  return length <= nextLimit || !cutOversized ? [{ text: '', length: 0 }, fragment] : cutOversized(text, limits)
}

function extendFragment(fragment: GrowingFragment, text: string, length: number): void {
  fragment.text += text
  fragment.length = length
}

/** The pattern of a word. In scripts without spaces, a word ends where a sentence ends. */
const plainTokenPattern = /[^\s。！？]*[。！？]+|\S+|\s+/gu
/**
 * The pattern of a word or construct of Markdown. A link, code or short emphasis is one token. The text between its marks contains no such mark,
 * so the search for an end runs once.
 */
const inlineTokenPattern =
  /\[[^[\]\n]{0,300}\]\([^\s()[\]<>"]{0,2048}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|(?<![*\w])\*[^*\s][^*\n]{0,300}\*|(?<!\w)__?[^_\s][^_\n]{0,300}__?|~~[^~\n]{1,300}~~|[^\s。！？[`*_~]*[。！？]+|[^\s。！？[`*_~]+|\s+|\S/gu
const linePattern = /[^\n]*\n|[^\n]+/g
const blankLinePattern = /^[ \t]*\n$/
const wordEndPattern = /(?:\s|[。！？])$/u
/** The end of a sentence: a final mark and the closing marks after it, or the end of a line. */
const sentenceEndPattern = /(?:[.!?…][\p{Pe}\p{Pf}"'*_~`]*\s+|[。！？][\p{Pe}\p{Pf}]*\s*|\n\s*)$/u

/** Yields paragraphs with the blank lines after them. Joined, they are the text again. */
function splitParagraphs(text: string): Generator<string> {
  return joinUntil(blankLinePattern, listMatches(text, linePattern))
}

/** Yields words with the space after them. Joined, they are the text again. */
function splitPlainWords(text: string): Generator<string> {
  return joinUntil(wordEndPattern, listMatches(text, plainTokenPattern))
}

/** Yields words of Markdown. A link or emphasized text that is one token is part of one word. */
function splitInlineWords(text: string): Generator<string> {
  return joinUntil(wordEndPattern, listMatches(text, inlineTokenPattern))
}

/** Yields sentences, joined from words. */
function joinSentences(words: Iterable<string>): Generator<string> {
  return joinUntil(sentenceEndPattern, words)
}

function* listMatches(text: string, pattern: RegExp): Generator<string> {
  for (const [piece] of text.matchAll(pattern)) yield piece
}

/** Joins pieces up to and including the next one that matches `endPattern`. */
function* joinUntil(endPattern: RegExp, pieces: Iterable<string>): Generator<string> {
  const collectedPieces: string[] = []
  for (const piece of pieces) {
    collectedPieces.push(piece)
    if (endPattern.test(piece)) yield collectedPieces.splice(0).join('')
  }
  if (collectedPieces.length > 0) yield collectedPieces.join('')
}

/** Cuts an overlong word. URLs and `@user@host` in it stay whole, and the rest is cut between grapheme clusters. */
const cutWord = createCut({ split: splitWord, measure: countText, separatorLength: 0 })
const cutWords = createCut({ split: splitPlainWords, measure: countText, separatorLength: 0, cutOversized: cutWord })

const cutSentences = createCut({
  split: text => joinSentences(splitPlainWords(text)),
  measure: countText,
  separatorLength: 0,
  cutOversized: cutWords,
})

const cutInlineWords = createCut({
  split: splitInlineWords,
  measure: countInline,
  separatorLength: 0,
  cutOversized: cutSentences,
})

/** Cuts plain text: between paragraphs first, then between sentences and lines, then between words. */
export const cutPlain = createCut({
  split: splitParagraphs,
  measure: countText,
  separatorLength: 0,
  cutOversized: cutSentences,
})

/** Cuts a paragraph of Markdown. */
export const cutParagraph = createCut({
  split: text => joinSentences(splitInlineWords(text)),
  measure: countInline,
  separatorLength: 0,
  cutOversized: cutInlineWords,
})

function* splitWord(word: string): Generator<string> {
  for (const { text, isUnbreakable } of splitUnbreakable(word)) {
    if (isUnbreakable) yield text
    else yield* readGraphemes(text)
  }
}

/** Counts a text as it is displayed, with the space around it. */
function countInline(text: string, max: number): number {
  const trimmedText = text.trim()
  const count = (beginning: string, maxLength: number) => countVisible(inlineToPostHtml(beginning), maxLength)
  return countPrefix(trimmedText, max, count) + text.length - trimmedText.length
}
