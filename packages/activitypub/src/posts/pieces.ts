// Splits a long response into several posts.
import type { Part } from '@postern/message'
import type { Rendering } from '../format/post-data.ts'
import { splitOnce } from '../split/split-parts.ts'
import { partsToHtmlOnce } from '../text/post-html.ts'

/** Returns the number of posts that parts need. Most responses are short and need no split. */
export function countPieces(parts: readonly Part[], limit: number): number {
  const isShort = isBrief(parts) && maxVisible(partsToHtmlOnce({ parts, status: 'completed' })) <= limit
  return isShort ? 1 : splitOnce(parts, limit).length
}

/** The most characters of a text that is rendered as HTML to measure it. A longer text needs several posts anyway. */
const briefChars = 32_768

function isBrief(parts: readonly Part[]): boolean {
  return parts.reduce((length, part) => length + (part.kind === 'text' ? part.content.length : 0), 0) <= briefChars
}

/**
 * Returns an upper bound of the visible characters of our own HTML. A tag counts as at most 3, and an address as 15 more than its shortest form
 * has.
 */
function maxVisible(html: string): number {
  return html.replace(/<[^>]*>/g, '   ').length + 15 * (html.split(':').length - 1)
}

/** Returns the parts of one piece, or undefined if the piece no longer exists, because edited text may be shorter. */
export function partsOfPiece(
  parts: readonly Part[],
  { pieces, limit }: Pick<Rendering, 'pieces' | 'limit'>,
  piece: number,
): readonly Part[] | undefined {
  if (pieces === 1 || limit === undefined) return piece === 0 ? parts : undefined
  const split = splitOnce(parts, limit)
  // The number of posts of a sent thread does not grow, so its last post contains all further text.
  return piece === pieces - 1 && split.length > pieces ? split.slice(piece).flat() : split[piece]
}
