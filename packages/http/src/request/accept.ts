// Selects the media type of an answer by the Accept header (RFC 9110 §12.5.1).

import type { MediaType } from './media-type.ts'
import { parseMediaType } from './media-type.ts'

/**
 * Selects one of `types` for the answer (RFC 9110 §12.5.1): the one that the peer prefers, or the first of equals; undefined if none is
 * acceptable. Without a header every type is acceptable.
 */
export function selectMediaType(acceptHeader: string | null | undefined, types: readonly string[]): string | undefined {
  if (!acceptHeader?.trim()) return types[0]
  const ranges = splitList(acceptHeader).flatMap(text => parseMediaType(text) ?? [])
  let best: { readonly type: string; readonly quality: number } | undefined
  for (const type of types) {
    const quality = qualityOf(type, ranges)
    if (quality > (best?.quality ?? 0)) best = { type, quality }
  }
  return best?.type
}

/** Returns the quality of the most specific matching range; 0 when none matches. */
function qualityOf(offered: string, ranges: readonly MediaType[]): number {
  const parsed = parseMediaType(offered)
  if (!parsed) return 0
  let closest = { rank: -1, quality: 0 }
  for (const range of ranges) {
    const rank = rankOf(range, parsed)
    if (rank > closest.rank) closest = { rank, quality: readQuality(range) }
  }
  return closest.quality
}

/** Returns how closely a range matches the offered type; -1 when it does not. */
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
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (isQuoted && char === '\\') at += 1
    else if (char === '"') isQuoted = !isQuoted
    else if (char === ',' && !isQuoted) {
      items.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...items, text.slice(start)]
}
