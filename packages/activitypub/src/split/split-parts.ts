import type { Part } from '@postern/core'
import { memoize } from '@postern/limits'
import { countVisible } from '../html/visible-length.ts'
import { partsToHtml, partsToHtmlOnce } from '../words/words.ts'
import { cutMarkdown } from './cut-markdown.ts'
import type { Cut } from './cut-text.ts'
import { packParts } from './pack-parts.ts'

const maxPieces = 20
/** Less is no thread: an address and a few words have to fit. */
const minLimit = 40

/**
 * The parts of the limit that pieces may fill. The next one counts when a piece turns out longer than the sum of its parts: marks of
 * emphasis or code mean something else beside others.
 */
const shares = [1, 0.9]

type Pieces = readonly (readonly Part[])[]

const remember = memoize<Pieces>()

/**
 * Cuts an answer into the pieces of a thread. Each has at most `limit` characters (no less than 40), as `countVisible`
 * counts what a reader sees. An answer that fits is one piece, unchanged. Parts that are no text stay whole and in
 * place, even when one is longer. There are at most 20 pieces; the last holds the rest, however long. Pure.
 */
export function splitParts(parts: readonly Part[], limit: number): Pieces {
  const maxChars = Math.max(limit, minLimit)
  if (countVisible(partsToHtmlOnce({ parts, status: 'completed' }), maxChars) <= maxChars) return [parts]
  const fits = (some: readonly Part[]) => countParts(some, maxChars) <= maxChars
  const isHeld = (piece: readonly Part[], at: number) =>
    at === maxPieces - 1 || piece.every(({ kind }) => kind !== 'text') || fits(piece)
  const cutInPieces = (share: number, cut?: Cut) =>
    packParts(parts, { limit: Math.floor(maxChars * share), maxPieces, measure: countParts, cutMarkdown: cut })
  for (const share of shares) {
    const pieces = cutInPieces(share, cutMarkdown)
    if (pieces.every(isHeld)) return pieces
  }
  // A piece cut as plain text is exactly as long as its words.
  return cutInPieces(1)
}

/**
 * As `splitParts`, with a memory. Each post of a thread is rendered from its piece whenever it is sent or read, and a
 * text that strangers choose may take a second to split.
 */
export function splitOnce(parts: readonly Part[], limit: number): Pieces {
  return remember(JSON.stringify([limit, parts]), () => splitParts(parts, limit))
}

function countParts(parts: readonly Part[], max: number): number {
  return countVisible(partsToHtml({ parts, status: 'completed' }), max)
}
