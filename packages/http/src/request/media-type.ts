// Parses media types (RFC 9110 §8.3.1).

/** A media type with its parameters. */
export interface MediaType {
  /** The `type/subtype` in lower case. */
  readonly type: string
  /** The parameters by their names in lower case. If a name repeats, its first value counts. */
  readonly parameters: Map<string, string>
}

const typePattern = /[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*/iy
const parameterPattern =
  /;[ \t]*(?:([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*/iy

/** Parses a Content-Type or one range of an Accept header (RFC 9110 §8.3.1), or returns undefined if the text is invalid. */
export function parseMediaType(text: string | null | undefined): MediaType | undefined {
  if (!text) return undefined
  typePattern.lastIndex = 0
  const type = typePattern.exec(text)?.[1]
  if (!type) return undefined
  const parameters = new Map<string, string>()
  let position = typePattern.lastIndex
  while (position < text.length) {
    parameterPattern.lastIndex = position
    const match = parameterPattern.exec(text)
    if (!match) return undefined
    const [, name, token, quoted] = match
    const key = name?.toLowerCase()
    if (key && !parameters.has(key)) parameters.set(key, token ?? quoted?.replace(/\\(.)/g, '$1') ?? '')
    position = parameterPattern.lastIndex
  }
  return { type: type.toLowerCase(), parameters }
}
