// Splits multipart messages into their leaves (RFC 2046).
import type { HeaderBlock, HeaderLimits } from '../mail/header.ts'
import { scanHeaders } from '../mail/header.ts'

/** A part without parts of its own: a text, or a file. */
export interface Leaf {
  readonly type: string
  readonly octets: Buffer
  /** The charset that the part declares. */
  readonly charset: string
  /** True if the part is one of several forms of the same text. */
  readonly isAlternative: boolean
  /** The file. It is absent for a text. */
  readonly file?: { readonly name: string | undefined } | undefined
}

/** A message or a part of a message. */
export interface PartEntity {
  readonly octets: Buffer
  readonly header: HeaderBlock
  /** The offset after the last octet of the body. */
  readonly bodyEnd: number
  readonly depth: number
  readonly isAlternative: boolean
}

/** The deepest nesting of multiparts that is read here. The parser reads deeper messages. */
const maxDepth = 3

/**
 * Returns the leaves of a multipart. `readPart` reads each part. `readMultipart` returns undefined if a part is
 * unreadable, or if a delimiter line is not exact.
 */
export function readMultipart(
  entity: PartEntity,
  type: ContentType,
  limits: HeaderLimits,
  readPart: (part: PartEntity, limits: HeaderLimits) => readonly Leaf[] | undefined,
): readonly Leaf[] | undefined {
  const { octets, header, bodyEnd, depth } = entity
  const boundary = type.params.get('boundary')
  if (!boundary || depth >= maxDepth) return undefined
  const parts = splitMultipart(octets, { start: header.bodyStart, end: bodyEnd }, boundary)
  const isAlternative = entity.isAlternative || type.name === 'multipart/alternative'
  const leaves: Leaf[] = []
  for (const { start, end: partEnd } of parts ?? []) {
    const partHeader = scanPart(octets, start, limits)
    if (!partHeader || partHeader.bodyStart > partEnd) return undefined
    const part = { octets, header: partHeader, bodyEnd: partEnd, depth: depth + 1, isAlternative }
    const partLeaves = readPart(part, limits)
    if (!partLeaves) return undefined
    leaves.push(...partLeaves)
  }
  return parts && leaves
}

function scanPart(octets: Buffer, start: number, limits: HeaderLimits): HeaderBlock | undefined {
  try {
    return scanHeaders(octets, limits, start)
  } catch {
    return undefined
  }
}

/** A content type with its parameters. */
export interface ContentType {
  readonly name: string
  readonly params: ReadonlyMap<string, string>
}

interface Range {
  readonly start: number
  readonly end: number
}

/** The maximum number of delimiter lines. No message that consists of texts has more. */
const maxDelimiters = 20

/**
 * Returns the parts of a multipart body (RFC 2046 §5.1.1), without the line ends before their delimiters. It returns undefined unless every delimiter
 * line is exact and only the last one closes the multipart.
 */
function splitMultipart(octets: Buffer, range: Range, boundary: string): readonly Range[] | undefined {
  const delimiterLines = [...listDelimiters(octets, range, `--${boundary}`)]
  const lastLine = delimiterLines.at(-1)
  const isWellFormed =
    delimiterLines.length > 1 &&
    delimiterLines.length <= maxDelimiters &&
    delimiterLines.every(line => line.isClosing === (line === lastLine))
  if (!isWellFormed || !delimiterLines.every(line => line.isExact)) return undefined
  return delimiterLines
    .slice(1)
    .map(({ start }, index) => ({ start: delimiterLines[index]?.end ?? start, end: start - 2 }))
}

/**
 * Yields the lines that begin with the delimiter. `isExact` is true if only the mark of the last delimiter and a line
 * end follow the boundary.
 */
function* listDelimiters(octets: Buffer, { start, end }: Range, delimiter: string) {
  for (
    let position = findDashes(octets, start, start);
    position >= 0 && position < end;
    position = findDashes(octets, position + 1, start)
  ) {
    const lf = octets.indexOf(0x0a, position)
    const lineEnd = lf < 0 || lf >= end ? end : lf + 1
    const line = octets.toString('latin1', position, Math.min(lineEnd, position + delimiter.length + 5))
    if (!line.startsWith(delimiter)) continue
    const afterDelimiter = line.slice(delimiter.length)
    const isClosing = afterDelimiter.startsWith('--')
    yield {
      start: position,
      end: lineEnd,
      isClosing,
      isExact: isClosing ? /^--(?:\r\n)?$/.test(afterDelimiter) : afterDelimiter === '\r\n',
    }
  }
}

/** Finds the next line that begins with two dashes. */
function findDashes(octets: Buffer, searchStart: number, start: number): number {
  if (searchStart === start && octets[searchStart] === 0x2d && octets[searchStart + 1] === 0x2d) return searchStart
  const position = octets.indexOf('\r\n--', searchStart - 2)
  return position < 0 ? -1 : position + 2
}
