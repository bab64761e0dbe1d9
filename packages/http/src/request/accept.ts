// Selects the media type of an answer by the Accept header (RFC 9110 §12.5.1).

import type { MediaType } from './media-type.ts'
import { parseMediaType } from './media-type.ts'

/**
 * Selects one of `types` for the answer (RFC 9110 §12.5.1): the type that the peer prefers, or the first of equals. Returns undefined if no type is
 * acceptable. Without a header every type is acceptable.
 */
export function selectMediaType(acceptHeader: string | null | undefined, types: readonly string[]): string | undefined {
  if (!acceptHeader?.trim()) return types[0]
  const ranges = splitList(acceptHeader).flatMap(text => parseMediaType(text) ?? [])
  let bestType: { readonly type: string; readonly quality: number } | undefined
  for (const type of types) {
    const quality = qualityOf(type, ranges)
    if (quality > (bestType?.quality ?? 0)) bestType = { type, quality }
  }
  return bestType?.type
}

/** Returns the quality of the most specific matching range, or 0 if no range matches. */
function qualityOf(type: string, ranges: readonly MediaType[]): number {
  const offeredType = parseMediaType(type)
  if (!offeredType) return 0
  let closestMatch = { rank: -1, quality: 0 }
  for (const range of ranges) {
    const rank = rankOf(range, offeredType)
    if (rank > closestMatch.rank) closestMatch = { rank, quality: readQuality(range) }
  }
  return closestMatch.quality
}

/** Returns the rank of a range by the precision of its match, or -1 if the range does not match the offered type. */
function rankOf({ type, parameters }: MediaType, offered: MediaType): number {
  if (type === '*/*') return 0
  if (type === `${offered.type.split('/')[0]}/*`) return 1
  if (type !== offered.type) return -1
  const requiredParameters = [...parameters].filter(([name]) => name !== 'q' && name !== 'charset')
  return requiredParameters.every(([name, value]) => offered.parameters.get(name) === value)
    ? 2 + requiredParameters.length
    : -1
}

function readQuality({ parameters }: MediaType): number {
  const quality = Number(parameters.get('q') ?? 1)
  return quality >= 0 && quality <= 1 ? quality : 0
}

/** Splits a list at the commas outside quotes. */
function splitList(text: string): string[] {
  const items: string[] = []
  let start = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]
    if (isQuoted && char === '\\') index += 1
    else if (char === '"') isQuoted = !isQuoted
    else if (char === ',' && !isQuoted) {
      items.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...items, text.slice(start)]
}
