// Rewrites malformed fields about the structure of an entity in the form of RFC 2045.
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { charsetOfMeta } from '../text/charset-of-meta.ts'
import { readBoundary } from './boundary.ts'

/** A range of octets that the parser reads with another text. Signatures are verified over the original octets. */
export interface Correction {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** An entity whose structure fields may be malformed. */
interface CorrectedEntity {
  readonly header: HeaderBlock
  /** True for the message itself and for the first part of its parent. A text there is meant for people. */
  readonly isFirst: boolean
  /**
   * Finds the boundary in the body (RFC 2046 §5.1.1), if the type names no boundary or a boundary that the body lacks.
   */
  findBoundary(boundary: string | undefined): string | undefined
}

/** The effective type, and the corrections for the parser. */
interface CorrectedFields {
  readonly type: string
  readonly corrections: readonly Correction[]
}

/** Returns the corrections with which the parser reads the fields of an entity. */
export function correctFields(entity: CorrectedEntity): CorrectedFields {
  const { fields } = entity.header
  const field = fields.find(({ name }) => name === 'content-type')
  const encodingField = fields.find(({ name }) => name === 'content-transfer-encoding')
  const type = field ? correctType(field.value, entity) : ''
  const corrections = [
    ...(field && type !== field.value ? [replaceField(field, `Content-Type: ${type}`)] : []),
    ...(encodingField ? correctEncoding(encodingField) : []),
  ]
  return { type, corrections: corrections.sort((left, right) => left.start - right.start) }
}

/** Returns the octets with all corrections, which must be in order and must not overlap. */
export function applyCorrections(octets: Buffer, corrections: readonly Correction[]): Buffer {
  let position = 0
  const pieces = corrections.flatMap(({ start, end, text }) => {
    const unchangedOctets = octets.subarray(position, start)
    position = end
    return [unchangedOctets, Buffer.from(text)]
  })
  return Buffer.concat([...pieces, octets.subarray(position)])
}

function replaceField({ start, end }: HeaderField, line: string): Correction {
  return { start, end, text: `${line}\r\n` }
}

/** The encodings of RFC 2045 §6.1. */
const encodingPattern = /^(?:7bit|8bit|binary|base64|quoted-printable)$/i

/** Corrects an encoding. The field is one token, and anything after it is ignored. */
function correctEncoding(field: HeaderField): Correction[] {
  if (encodingPattern.test(field.value)) return []
  const token = /^[\s"']*([a-z0-9-]{1,20})/i.exec(removeComments(field.value))?.[1] ?? ''
  return encodingPattern.test(token) ? [replaceField(field, `Content-Transfer-Encoding: ${token}`)] : []
}

const wellFormedTypePattern = /^[\w!#$%&'*+.^`|~-]{1,127}\/[\w!#$%&'*+.^`|~-]{1,127}$/
/**
 * Matches the text types that keep their type wherever they are. Any other text that people are meant to read is read
 * as plain text.
 */
const programTextTypePattern =
  /^text\/(?:plain|html|calendar|csv|tab-separated-values|(?:x-)?vcard|directory|rfc822-headers|rtf|richtext|x-amp-html|watch-html|css|xml|javascript|ecmascript)$/

function correctType(value: string, entity: CorrectedEntity): string {
  const plainValue = removeComments(value)
  const [, typeName = '', semicolon = '', remainder = ''] =
    /^[\s;]*"?([^\s;"]*)"?\s*(;?)([\s\S]*)$/.exec(plainValue) ?? []
  const params = remainder.trim() === '' ? '' : `; ${remainder.trim()}`
  const name = chooseTypeName(typeName.toLowerCase(), entity)
  if (name === undefined) return value
  const needsNoCorrection =
    name === typeName.toLowerCase() && plainValue === value && (params === '' || semicolon === ';')
  const correctedValue = needsNoCorrection ? value : `${name}${params}`
  if (name.startsWith('multipart/')) return correctMultipart({ value: correctedValue, name, params }, entity)
  // The parser would read HTML as UTF-8 when only the HTML itself names its charset.
  return name === 'text/html' && !/;\s*charset\b/i.test(params)
    ? `${correctedValue}; charset=${charsetOfMeta}`
    : correctedValue
}

/** Returns the effective type. It returns undefined if the field stays unchanged. */
function chooseTypeName(typeName: string, { header, isFirst }: CorrectedEntity): string | undefined {
  const isFile = header.fields.some(declaresFile)
  if (wellFormedTypePattern.test(typeName)) {
    const isForPeople = isFirst && !isFile && typeName.startsWith('text/') && !programTextTypePattern.test(typeName)
    return isForPeople ? 'text/plain' : typeName
  }
  if (isFile) return undefined
  if (/^multipart\b/.test(typeName)) return 'multipart/mixed'
  if (/^(?:text\/?)?html?$/.test(typeName)) return 'text/html'
  const isBase64 = header.fields.some(
    ({ name, value }) => name === 'content-transfer-encoding' && /^\s*base64/i.test(value),
  )
  // The default type is plain text (RFC 2045 §5.2). An encoded part whose type names no text may be anything.
  return isBase64 && !/^(?:text|plain)?\b/.test(typeName) ? undefined : 'text/plain'
}

function declaresFile({ name, value }: HeaderField): boolean {
  if (name === 'content-disposition') return !/^inline\b/i.test(value) || /;\s*filename\b/i.test(value)
  return name === 'content-type' && /[;\s]name\b/i.test(value)
}

interface DeclaredType {
  readonly value: string
  readonly name: string
  readonly params: string
}

/** Returns a multipart type with the boundary of the body. If the body has no boundary, the entity is plain text. */
function correctMultipart({ value, name, params }: DeclaredType, entity: CorrectedEntity): string {
  const declaredBoundary = readBoundary(`x${params}`)
  const boundary = entity.findBoundary(declaredBoundary)
  if (boundary === undefined) return 'text/plain'
  return boundary === declaredBoundary ? value : `${name}; boundary="${boundary}"`
}

/** Removes comments, which are in parentheses and may be nested. A quoted string contains none (RFC 5322 §3.2.2). */
function removeComments(value: string): string {
  if (!value.includes('(')) return value
  let depth = 0
  const pieces: string[] = []
  for (const [token] of value.matchAll(/"(?:[^"\\]|\\.)*"|\\.|[^"\\()]+|./gs)) {
    if (token === '(') depth += 1
    else if (token === ')' && depth > 0) depth -= 1
    else if (depth === 0) pieces.push(token)
  }
  // A parenthesis that is never closed does not begin a comment.
  return depth > 0 ? value : pieces.join('').trim()
}
