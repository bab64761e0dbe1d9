import type { Part } from '@postern/core'
import { partsToHtml } from '../words/parts-to-html.ts'
import type { Cut } from './cut.ts'
import { cutMarkdown } from './cut-markdown.ts'
import { countVisible } from './length/visible-length.ts'
import { packParts } from './pack-parts.ts'

const maxPieces = 20
/** Less is no thread: an address and a few words have to fit. */
const minLimit = 40

/**
 * The next way is taken when a piece turns out longer than the sum of what it was put together from: marks of emphasis
 * or code mean something else beside others. Cut as plain text a piece is exactly as long as its words.
 */
const ways: readonly SplitRule[] = [
  { cutMarkdown, share: 1 },
  { cutMarkdown, share: 0.9 },
]
const plainWay: SplitRule = { cutMarkdown: undefined, share: 1 }

interface SplitRule {
  readonly cutMarkdown: Cut | undefined
  readonly share: number
}

/**
 * Cuts an answer into the pieces of a thread, each at most `limit` characters long (no less than 40), as `countVisible`
 * counts what a reader sees of it. An answer that fits is one piece and stays as it is. Parts that are no text stay
 * whole and where they stood, also when one alone is longer. There are at most 20 pieces; the last holds all the rest,
 * however long. Pure.
 */
export function splitParts(parts: readonly Part[], limit: number): readonly (readonly Part[])[] {
  const room = Math.max(limit, minLimit)
  const fits = (some: readonly Part[]) => countParts(some, room) <= room
  if (fits(parts)) return [parts]
  const isHeld = (piece: readonly Part[], at: number) =>
    at === maxPieces - 1 || piece.every(({ kind }) => kind !== 'text') || fits(piece)
  const cutInPieces = ({ cutMarkdown, share }: SplitRule) =>
    packParts(parts, { limit: Math.floor(room * share), maxPieces, measure: countParts, cutMarkdown })
  for (const way of ways) {
    const pieces = cutInPieces(way)
    if (pieces.every(isHeld)) return pieces
  }
  return cutInPieces(plainWay)
}

function countParts(parts: readonly Part[], max: number): number {
  return countVisible(partsToHtml({ parts: [...parts], status: 'completed' }), max)
}
