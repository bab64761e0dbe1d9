// Splits a long answer into the posts of a thread.
import { memoize } from '@postern/limits'
import type { Part } from '@postern/message'
import { countVisible } from '../html/visible-length.ts'
import { partsToHtml } from '../text/post-html.ts'
import { countPrefix } from './count-prefix.ts'
import { cutMarkdown } from './cut-markdown.ts'
import type { Cut } from './cut-text.ts'
import { packParts } from './pack-parts.ts'

const maxPieces = 20
/** The lowest limit of a post. A URL and a few words have to fit. */
const minChars = 40

/**
 * The fractions of the limit that pieces may fill. The second factor is the fallback for pieces that render longer than the sum of their fragments,
 * because Markdown marks can change meaning next to others.
 */
const limitFactors = [1, 0.9]

type Pieces = readonly (readonly Part[])[]

const memoizePieces = memoize<Pieces>({
  sizeOf: pieces => pieces.flat().reduce((size, part) => size + (part.kind === 'text' ? part.content.length : 0), 0),
  // Each post of a thread needs the pieces, and the posts of many threads are sent at the same time.
  maxChars: 16_000_000,
})

/**
 * Cuts an answer into the pieces of a thread. Each piece has at most `limit` characters (no less than 40), as `countVisible` counts them. An
 * answer that fits is one piece, unchanged. Parts without text stay whole and in place, even if they are longer. There are at most 20 pieces. The
 * last piece contains all remaining text, regardless of its length. It is pure.
 */
export function splitParts(parts: readonly Part[], limit: number): Pieces {
  const maxChars = Math.max(limit, minChars)
  if (countParts(parts, maxChars) <= maxChars) return [parts]
  const fits = (candidate: readonly Part[]) => countParts(candidate, maxChars) <= maxChars
  const isAcceptable = (piece: readonly Part[], index: number) =>
    index === maxPieces - 1 || piece.every(({ kind }) => kind !== 'text') || fits(piece)
  const cutIntoPieces = (factor: number, cut?: Cut) =>
    packParts(parts, { maxChars: Math.floor(maxChars * factor), maxPieces, measure: countParts, cutMarkdown: cut })
  for (const factor of limitFactors) {
    const pieces = cutIntoPieces(factor, cutMarkdown)
    if (pieces.every(isAcceptable)) return pieces
  }
  // A piece that is cut as plain text is exactly as long as its text.
  return cutIntoPieces(1)
}

/**
 * Splits like `splitParts` and caches the result. Each post of a thread is rendered from its piece whenever it is sent or read, and a text that
 * strangers choose may need a second to split.
 */
export function splitPartsCached(parts: readonly Part[], limit: number): Pieces {
  return memoizePieces(JSON.stringify([limit, parts]), () => splitParts(parts, limit))
}

function countParts(parts: readonly Part[], max: number): number {
  const [firstPart, ...otherParts] = parts
  const count = (candidate: readonly Part[], maxLength: number) =>
    countVisible(partsToHtml({ parts: candidate, status: 'completed' }), maxLength)
  if (firstPart?.kind !== 'text') return count(parts, max)
  // If the beginning of one long text does not fit, the other parts need not be counted.
  const firstPartLength = countPrefix(firstPart.content, max, (content, maxLength) =>
    count([{ ...firstPart, content }], maxLength),
  )
  return firstPartLength > max || otherParts.length === 0 ? firstPartLength : count(parts, max)
}
