interface MediaType {
  /** `type/subtype`, lower case. */
  readonly type: string
  /** Names in lower case. If a name repeats, the first one counts. */
  readonly parameters: Map<string, string>
}

const typePattern = /[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*/iy
const parameterPattern =
  /;[ \t]*(?:([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*/iy

/** Parses a Content-Type or one range of an Accept header (RFC 9110 §8.3.1); undefined when it is invalid. */
export function parseMediaType(text: string | null | undefined): MediaType | undefined {
  if (!text) return undefined
  typePattern.lastIndex = 0
  const type = typePattern.exec(text)?.[1]
  if (!type) return undefined
  const parameters = new Map<string, string>()
  let at = typePattern.lastIndex
  while (at < text.length) {
    parameterPattern.lastIndex = at
    const match = parameterPattern.exec(text)
    if (!match) return undefined
    const [, name, token, quoted] = match
    const key = name?.toLowerCase()
    if (key && !parameters.has(key)) parameters.set(key, token ?? quoted?.replace(/\\(.)/g, '$1') ?? '')
    at = parameterPattern.lastIndex
  }
  return { type: type.toLowerCase(), parameters }
}

/**
 * Selects one of `types` for the answer (RFC 9110 §12.5.1): the peer's favourite, or the first of equals; undefined when none is
 * acceptable. Without a header every type is acceptable.
 */
export function acceptsType(acceptHeader: string | null | undefined, types: readonly string[]): string | undefined {
  if (!acceptHeader?.trim()) return types[0]
  const ranges = splitList(acceptHeader).flatMap(text => parseMediaType(text) ?? [])
  let best: { readonly type: string; readonly quality: number } | undefined
  for (const type of types) {
    const quality = qualityOf(type, ranges)
    if (quality > (best?.quality ?? 0)) best = { type, quality }
  }
  return best?.type
}

/** The quality of the most specific matching range; 0 when none matches. */
function qualityOf(offered: string, ranges: readonly MediaType[]): number {
  const parsed = parseMediaType(offered)
  if (!parsed) return 0
  let found = { rank: -1, quality: 0 }
  for (const range of ranges) {
    const rank = rankOf(range, parsed)
    if (rank > found.rank) found = { rank, quality: readQuality(range) }
  }
  return found.quality
}

/** How closely a range matches the offered type; -1 when it does not. */
function rankOf({ type, parameters }: MediaType, offered: MediaType): number {
  if (type === '*/*') return 0
  if (type === `${offered.type.split('/')[0]}/*`) return 1
  if (type !== offered.type) return -1
  const wanted = [...parameters].filter(([name]) => name !== 'q' && name !== 'charset')
  return wanted.every(([name, value]) => offered.parameters.get(name) === value) ? 2 + wanted.length : -1
}

function readQuality({ parameters }: MediaType): number {
  const quality = Number(parameters.get('q') ?? 1)
  return quality >= 0 && quality <= 1 ? quality : 0
}

/** Splits at commas outside of quotes. */
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
