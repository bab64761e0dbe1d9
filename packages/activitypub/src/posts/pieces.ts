// Splits a long response into several posts.
import type { Part } from '@postern/message'
import type { Rendering } from '../format/post-data.ts'
import { splitPartsCached } from '../split/split-parts.ts'
import { partsToHtmlCached } from '../text/post-html.ts'

/** Returns the number of posts that parts need. Most responses are short and need no split. */
export function countPieces(parts: readonly Part[], limitChars: number): number {
  const fitsOnePost =
    isCheapToMeasure(parts) && boundVisibleLength(partsToHtmlCached({ parts, status: 'completed' })) <= limitChars
  return fitsOnePost ? 1 : splitPartsCached(parts, limitChars).length
}

/** The longest text that is rendered as HTML to be measured. A longer text needs several posts anyway. */
const maxMeasuredChars = 32_768

function isCheapToMeasure(parts: readonly Part[]): boolean {
  return (
    parts.reduce((length, part) => length + (part.kind === 'text' ? part.content.length : 0), 0) <= maxMeasuredChars
  )
}

/**
 * Returns an upper bound of the visible characters of our own HTML. Each tag counts as 3 characters, and each colon adds 15, because a URL
 * counts as 23 and has at least 8 characters (`https://`).
 */
function boundVisibleLength(html: string): number {
  return html.replace(/<[^>]*>/g, '   ').length + 15 * (html.split(':').length - 1)
}

/** Returns the parts of one piece, or undefined if the piece no longer exists, because edited text may be shorter. */
export function findPartsOfPiece(
  parts: readonly Part[],
  { pieces, limit }: Pick<Rendering, 'pieces' | 'limit'>,
  piece: number,
): readonly Part[] | undefined {
  if (pieces === 1 || limit === undefined) return piece === 0 ? parts : undefined
  const splitParts = splitPartsCached(parts, limit)
  // The number of posts of a sent thread does not grow, so its last post contains all further text.
  return piece === pieces - 1 && splitParts.length > pieces ? splitParts.slice(piece).flat() : splitParts[piece]
}
