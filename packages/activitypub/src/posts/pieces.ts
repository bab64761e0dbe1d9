import type { Part } from '@postern/core'
import { splitOnce } from '../split/split-parts.ts'
import type { Rendering } from './rendering.ts'

/** The parts of one piece; undefined when there is none (any more): other words may be fewer. */
export function partsOfPiece(
  parts: readonly Part[],
  { pieces, limit }: Pick<Rendering, 'pieces' | 'limit'>,
  piece: number,
): readonly Part[] | undefined {
  if (pieces === 1 || limit === undefined) return piece === 0 ? parts : undefined
  const split = splitOnce(parts, limit)
  // A thread that has been sent does not grow: its last post holds the rest.
  return piece === pieces - 1 && split.length > pieces ? split.slice(piece).flat() : split[piece]
}

/** Into how many posts an answer is divided. `limit` in visible characters. */
export function countPieces(parts: readonly Part[], limit: number): number {
  return splitOnce(parts, limit).length
}

/** The number of the piece in a post's IRI. The first piece has the id of the response alone. */
export function pieceId(responseId: string, piece: number): string {
  return piece === 0 ? responseId : `${responseId}.${piece + 1}`
}

/** The response and the piece that a post's id names. */
export function parsePieceId(id: string): { readonly responseId: string; readonly piece: number } {
  const [, responseId, number] = /^(.+)\.([2-9]|1\d|20)$/.exec(id) ?? []
  return responseId === undefined ? { responseId: id, piece: 0 } : { responseId, piece: Number(number) - 1 }
}
