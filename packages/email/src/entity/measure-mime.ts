// Counts the MIME parts of a message and their nesting before a parser reads it.
import type { MailLimits } from '../config/limits.ts'
import type { HeaderBlock, HeaderLimits } from '../mail/header.ts'
import { scanHeaders } from '../mail/header.ts'
import { guessBoundary, hasDelimiter, readBoundary } from './boundary.ts'
import type { Correction } from './corrected-fields.ts'
import { correctFields } from './corrected-fields.ts'

const LF = 0x0a

type StructureLimits = HeaderLimits & Pick<MailLimits, 'mime_parts' | 'mime_depth' | 'embedded_messages'>

/** The numbers of parts, levels and embedded messages. Counting them needs no decoding. */
type MimeCounts = Record<'parts' | 'depth' | 'embedded', number>

interface OpenStructure extends MimeCounts {
  /** The delimiters of the open multiparts, outermost first. */
  readonly delimiters: string[]
  /** The nesting level of the multipart that has no part yet, or 0 if every open multipart has one. */
  emptyLevel: number
  /**
   * The nesting level of the embedded message that is being read. An embedded message becomes a file with its original
   * octets, so its fields are not corrected.
   */
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
export function measureMime(octets: Buffer, header: HeaderBlock, limits: StructureLimits) {
  const structure: OpenStructure = {
    parts: 0,
    depth: 0,
    embedded: 0,
    delimiters: [],
    emptyLevel: 0,
    embeddedLevel: undefined,
    corrections: [],
  }
  let position = enterEntity({ octets, header, isFirst: true }, structure, limits)
  while (position < octets.length && !exceedsMimeLimits(structure, limits)) {
    const line = findDelimiterLine(octets, position)
    if (line < 0) break
    position = enterDelimiter(octets, line, structure, limits)
  }
  const { parts, depth, embedded, corrections } = structure
  return { parts, depth, embedded, corrections }
}

/** Returns true if a message exceeds a limit. No honest mail does. */
export function exceedsMimeLimits({ parts, depth, embedded }: MimeCounts, limits: StructureLimits): boolean {
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
function enterEntity(entity: EnteredEntity, structure: OpenStructure, limits: StructureLimits): number {
  const { octets, header } = entity
  const { type, corrections } = correctFields({
    ...entity,
    findBoundary: boundary => findBoundary(entity, boundary, structure),
  })
  if (structure.embeddedLevel === undefined) structure.corrections.push(...corrections)
  if (/^multipart\//i.test(type)) {
    const boundary = readBoundary(type)
    if (boundary) structure.delimiters.push(`--${boundary}`)
    structure.emptyLevel = boundary ? structure.delimiters.length : 0
    structure.depth = Math.max(structure.depth, structure.delimiters.length)
  }
  if (!/^message\/(rfc822|global)\b/i.test(type)) return header.bodyStart
  structure.embedded += 1
  structure.embeddedLevel ??= structure.delimiters.length
  if (exceedsMimeLimits(structure, limits)) return header.bodyStart
  return enterPart({ octets, position: header.bodyStart, isFirst: true }, structure, limits)
}

/**
 * Finds the boundary of a multipart. Only in the message itself, the function searches the whole body for the declared
 * boundary.
 */
function findBoundary({ octets, header }: EnteredEntity, boundary: string | undefined, structure: OpenStructure) {
  const start = header.bodyStart
  const isRoot = structure.parts === 0 && structure.embedded === 0
  if (boundary && (!isRoot || hasDelimiter(octets, start, boundary))) return boundary
  return guessBoundary({ octets, start, outerBoundaries: structure.delimiters })
}

interface PartStart extends Pick<EnteredEntity, 'octets' | 'isFirst'> {
  readonly position: number
}

function enterPart(
  { octets, position, isFirst }: PartStart,
  structure: OpenStructure,
  limits: StructureLimits,
): number {
  let header: HeaderBlock
  try {
    header = scanHeaders(octets, limits, position)
  } catch {
    // A part without a readable header has no children, so its lines are text.
    return position
  }
  return enterEntity({ octets, header, isFirst }, structure, limits)
}

/** Finds the start of the next line that begins with two dashes. */
function findDelimiterLine(octets: Buffer, start: number): number {
  if (octets[start - 1] === LF && octets[start] === 0x2d && octets[start + 1] === 0x2d) return start
  const position = octets.indexOf('\n--', start)
  return position < 0 ? -1 : position + 1
}

function enterDelimiter(octets: Buffer, start: number, structure: OpenStructure, limits: StructureLimits): number {
  const lf = octets.indexOf(LF, start)
  const end = lf < 0 ? octets.length : lf + 1
  if (end - start > maxDelimiterBytes) return end
  const line = octets.toString('latin1', start, end).trimEnd()
  const level = structure.delimiters.findLastIndex(delimiter => line === delimiter || line === `${delimiter}--`)
  if (level < 0) return end
  const isClosing = line !== structure.delimiters[level]
  const isFirst = structure.emptyLevel === level + 1
  structure.emptyLevel = 0
  structure.delimiters.length = isClosing ? level : level + 1
  if (structure.embeddedLevel !== undefined && structure.delimiters.length <= structure.embeddedLevel)
    structure.embeddedLevel = undefined
  if (isClosing) return end
  structure.parts += 1
  return enterPart({ octets, position: end, isFirst }, structure, limits)
}
