import type { MailLimits } from '../config/limits.ts'
import type { HeaderBlock, HeaderLimits } from '../mail/octets.ts'
import { findField, scanHeaders } from '../mail/octets.ts'

const [LF, CR] = [0x0a, 0x0d]

type ShapeLimits = HeaderLimits & Pick<MailLimits, 'mime_parts' | 'mime_depth' | 'embedded_messages'>

/** How much there is in a message, counted without decoding anything. */
type MimeCounts = Record<'parts' | 'depth' | 'embedded', number>

interface OpenShape extends MimeCounts {
  /** Delimiters of the multiparts we are in, outermost first. */
  readonly delimiters: string[]
  /** Offsets where HTML of the message itself would name its charset, and does not. */
  readonly unnamedCharsets: number[]
}

/** RFC 2046 §5.1.1 allows 70 characters; whatever is longer than this is no delimiter line. */
const maxDelimiter = 1024

/**
 * Counts parts, nesting and embedded messages in one pass over the delimiter lines. So a message can be found too
 * complex before a parser builds its tree. Stops at the first exceeded limit.
 */
export function measureMime(octets: Buffer, header: HeaderBlock, limits: ShapeLimits) {
  const shape: OpenShape = { parts: 0, depth: 0, embedded: 0, delimiters: [], unnamedCharsets: [] }
  let at = enterEntity(octets, header, shape, limits)
  while (at < octets.length && !isBeyond(shape, limits)) {
    const line = findDelimiterLine(octets, at)
    if (line < 0) break
    at = passDelimiter(octets, line, shape, limits)
  }
  const { parts, depth, embedded, unnamedCharsets } = shape
  return { parts, depth, embedded, unnamedCharsets }
}

/** Whether this is more than any honest mail has. */
export function isBeyond({ parts, depth, embedded }: MimeCounts, limits: ShapeLimits): boolean {
  return parts > limits.mime_parts || depth > limits.mime_depth || embedded > limits.embedded_messages
}

/** Reads the structure that an entity's header declares; continues inside an embedded message. */
function enterEntity(octets: Buffer, header: HeaderBlock, shape: OpenShape, limits: ShapeLimits): number {
  const type = findField(header, 'content-type') ?? ''
  if (/^multipart\//i.test(type)) {
    const boundary = readBoundary(type)
    if (boundary) shape.delimiters.push(`--${boundary}`)
    shape.depth = Math.max(shape.depth, shape.delimiters.length)
  }
  if (/^text\/html\b/i.test(type) && !/;\s*charset\b/i.test(type) && shape.embedded === 0) {
    shape.unnamedCharsets.push(findValueEnd(octets, header))
  }
  if (!/^message\/(rfc822|global)\b/i.test(type)) return header.bodyStart
  shape.embedded += 1
  if (isBeyond(shape, limits)) return header.bodyStart
  return enterPart(octets, header.bodyStart, shape, limits)
}

/** Before the line end of the field that names the type. */
function findValueEnd(octets: Buffer, { fields }: HeaderBlock): number {
  let end = fields.find(({ name }) => name === 'content-type')?.end ?? 0
  while (octets[end - 1] === LF || octets[end - 1] === CR) end -= 1
  return end
}

function enterPart(octets: Buffer, at: number, shape: OpenShape, limits: ShapeLimits): number {
  let header: HeaderBlock
  try {
    header = scanHeaders(octets, limits, at)
  } catch {
    return at // A part without a readable header has no children; its lines are text.
  }
  return enterEntity(octets, header, shape, limits)
}

/** The start of the next line that begins with two dashes. */
function findDelimiterLine(octets: Buffer, from: number): number {
  if (octets[from - 1] === LF && octets[from] === 0x2d && octets[from + 1] === 0x2d) return from
  const at = octets.indexOf('\n--', from)
  return at < 0 ? -1 : at + 1
}

function passDelimiter(octets: Buffer, start: number, shape: OpenShape, limits: ShapeLimits): number {
  const lf = octets.indexOf(LF, start)
  const end = lf < 0 ? octets.length : lf + 1
  if (end - start > maxDelimiter) return end
  const line = octets.toString('latin1', start, end).trimEnd()
  const level = shape.delimiters.findLastIndex(delimiter => line === delimiter || line === `${delimiter}--`)
  if (level < 0) return end
  const isClosing = line !== shape.delimiters[level]
  shape.delimiters.length = isClosing ? level : level + 1
  if (isClosing) return end
  shape.parts += 1
  return enterPart(octets, end, shape, limits)
}

/** The boundary parameter of a multipart type. */
export function readBoundary(type: string): string | undefined {
  const match = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(type)
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2]
}
