// Counts the MIME parts of a message and their nesting before a parser reads it.
import type { MailLimits } from '../config/limits.ts'
import type { HeaderBlock, HeaderLimits } from '../mail/header.ts'
import { scanHeaders } from '../mail/header.ts'
import { guessBoundary, hasDelimiter, readBoundary } from './boundary.ts'
import type { Correction } from './corrected-fields.ts'
import { correctFields } from './corrected-fields.ts'

const LF = 0x0a

type ShapeLimits = HeaderLimits & Pick<MailLimits, 'mime_parts' | 'mime_depth' | 'embedded_messages'>

/** The numbers of parts, levels and embedded messages, counted without decoding. */
type MimeCounts = Record<'parts' | 'depth' | 'embedded', number>

interface OpenShape extends MimeCounts {
  /** The delimiters of the open multiparts, outermost first. */
  readonly delimiters: string[]
  /** The multipart that has no part yet, as the number of delimiters up to its own, or 0 if there is none. */
  emptyLevel: number
  /** The number of delimiters around the embedded message that is being read. It stays a file with its original octets. */
  embeddedLevel: number | undefined
  /** The corrections of the message's own fields for the parser. */
  readonly corrections: Correction[]
}

/** The longest delimiter line. RFC 2046 §5.1.1 allows boundaries of 70 characters, and a longer line than this is not a delimiter. */
const maxDelimiterBytes = 1024

/**
 * Counts parts, nesting and embedded messages in one pass over the delimiter lines, so that a message that is too complex is found before a parser
 * builds its tree. It stops at the first exceeded limit.
 */
export function measureMime(octets: Buffer, header: HeaderBlock, limits: ShapeLimits) {
  const shape: OpenShape = {
    parts: 0,
    depth: 0,
    embedded: 0,
    delimiters: [],
    emptyLevel: 0,
    embeddedLevel: undefined,
    corrections: [],
  }
  let position = enterEntity({ octets, header, isFirst: true }, shape, limits)
  while (position < octets.length && !exceedsMimeLimits(shape, limits)) {
    const line = findDelimiterLine(octets, position)
    if (line < 0) break
    position = passDelimiter(octets, line, shape, limits)
  }
  const { parts, depth, embedded, corrections } = shape
  return { parts, depth, embedded, corrections }
}

/** Returns true if a message exceeds a limit. No honest mail does. */
export function exceedsMimeLimits({ parts, depth, embedded }: MimeCounts, limits: ShapeLimits): boolean {
  return parts > limits.mime_parts || depth > limits.mime_depth || embedded > limits.embedded_messages
}

interface EnteredEntity {
  readonly octets: Buffer
  readonly header: HeaderBlock
  /** True if nothing precedes the entity in its parent. */
  readonly isFirst: boolean
}

/**
 * Reads the structure that an entity's header declares, also inside an embedded message. It returns the offset at which the search for delimiters
 * continues.
 */
function enterEntity(entity: EnteredEntity, shape: OpenShape, limits: ShapeLimits): number {
  const { octets, header } = entity
  const { type, corrections } = correctFields({
    ...entity,
    findBoundary: boundary => findBoundary(entity, boundary, shape),
  })
  if (shape.embeddedLevel === undefined) shape.corrections.push(...corrections)
  if (/^multipart\//i.test(type)) {
    const boundary = readBoundary(type)
    if (boundary) shape.delimiters.push(`--${boundary}`)
    shape.emptyLevel = boundary ? shape.delimiters.length : 0
    shape.depth = Math.max(shape.depth, shape.delimiters.length)
  }
  if (!/^message\/(rfc822|global)\b/i.test(type)) return header.bodyStart
  shape.embedded += 1
  shape.embeddedLevel ??= shape.delimiters.length
  if (exceedsMimeLimits(shape, limits)) return header.bodyStart
  return enterPart({ octets, position: header.bodyStart, isFirst: true }, shape, limits)
}

/** Finds the boundary of a multipart. Only for the message itself the whole body is searched for the boundary that the type names. */
function findBoundary({ octets, header }: EnteredEntity, boundary: string | undefined, shape: OpenShape) {
  const start = header.bodyStart
  const isRoot = shape.parts === 0 && shape.embedded === 0
  if (boundary && (!isRoot || hasDelimiter(octets, start, boundary))) return boundary
  return guessBoundary({ octets, start, outerBoundaries: shape.delimiters })
}

interface PartStart extends Pick<EnteredEntity, 'octets' | 'isFirst'> {
  readonly position: number
}

function enterPart({ octets, position, isFirst }: PartStart, shape: OpenShape, limits: ShapeLimits): number {
  let header: HeaderBlock
  try {
    header = scanHeaders(octets, limits, position)
  } catch {
    return position // A part without a readable header has no children; its lines are text.
  }
  return enterEntity({ octets, header, isFirst }, shape, limits)
}

/** Finds the start of the next line that begins with two dashes. */
function findDelimiterLine(octets: Buffer, start: number): number {
  if (octets[start - 1] === LF && octets[start] === 0x2d && octets[start + 1] === 0x2d) return start
  const position = octets.indexOf('\n--', start)
  return position < 0 ? -1 : position + 1
}

function passDelimiter(octets: Buffer, start: number, shape: OpenShape, limits: ShapeLimits): number {
  const lf = octets.indexOf(LF, start)
  const end = lf < 0 ? octets.length : lf + 1
  if (end - start > maxDelimiterBytes) return end
  const line = octets.toString('latin1', start, end).trimEnd()
  const level = shape.delimiters.findLastIndex(delimiter => line === delimiter || line === `${delimiter}--`)
  if (level < 0) return end
  const isClosing = line !== shape.delimiters[level]
  const isFirst = shape.emptyLevel === level + 1
  shape.emptyLevel = 0
  shape.delimiters.length = isClosing ? level : level + 1
  if (shape.embeddedLevel !== undefined && shape.delimiters.length <= shape.embeddedLevel)
    shape.embeddedLevel = undefined
  if (isClosing) return end
  shape.parts += 1
  return enterPart({ octets, position: end, isFirst }, shape, limits)
}
