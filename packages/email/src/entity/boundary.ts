// Finds the boundary of a multipart in its content type or in its body (RFC 2046 §5.1.1).

/** Returns the boundary parameter of a multipart type. */
export function readBoundary(type: string): string | undefined {
  const match = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(type)
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2]
}

/** The longest preamble, in octets. */
const maxPreambleBytes = 16 * 1024
/** Matches a delimiter line, followed by the first field of a part or by the empty line of a part without fields. */
const delimiterPattern = /^--([\w'()+,./:=?][\w'()+,./:=? -]{0,69})\r?\n(?:[!-9;-~]{1,76}:|\r?\n)/
const dashesPattern = /^-*$/

interface BodyRange {
  readonly octets: Buffer
  readonly start: number
  /** The delimiters of the enclosing multiparts, at which the body ends at the latest. */
  readonly outerBoundaries: readonly string[]
}

/**
 * Returns the boundary of the first line in a body that has the form of a delimiter. It returns undefined if there is
 * no such line.
 */
export function guessBoundary({ octets, start, outerBoundaries }: BodyRange): string | undefined {
  const end = Math.min(octets.length, start + maxPreambleBytes)
  for (let position = start; position >= 0 && position < end; position = findNextDashes(octets, position)) {
    const boundary = delimiterPattern.exec(octets.toString('latin1', position, position + 160))?.[1]?.trimEnd()
    if (boundary === undefined || dashesPattern.test(boundary)) continue
    return outerBoundaries.includes(`--${boundary}`) ? undefined : boundary
  }
  return undefined
}

function findNextDashes(octets: Buffer, start: number): number {
  const position = octets.indexOf('\n--', start)
  return position < 0 ? -1 : position + 1
}

/** Returns true if a body has a line that begins with the delimiter of a boundary. */
export function hasDelimiter(octets: Buffer, start: number, boundary: string): boolean {
  const line = `--${boundary}`
  return octets.toString('latin1', start, start + line.length) === line || octets.indexOf(`\n${line}`, start) >= 0
}
