import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { Rejection } from '@postern/core/errors'
import type { MailLimits } from '../config/limits.ts'

/** One field of a header block. `start` and `end` are offsets of its octets, line ends included. */
export interface HeaderField {
  /** Lower case. */
  readonly name: string
  /** Unfolded and trimmed; encoded words as they are. */
  readonly value: string
  readonly start: number
  readonly end: number
}

export interface HeaderBlock {
  readonly fields: readonly HeaderField[]
  /** Offset of the first octet after the empty line; the length of the message where there is none. */
  readonly bodyStart: number
}

export type HeaderLimits = Pick<MailLimits, 'header_bytes' | 'field_bytes' | 'fields'>

const [LF, CR, NUL, SPACE, TAB, COLON] = [0x0a, 0x0d, 0x00, 0x20, 0x09, 0x3a]
const namePattern = /^[!-9;-~]+$/
/** Octets of a line (RFC 5322 §2.1.1): a name has to end within the first. */
const maxName = 998

/**
 * Splits the header block of a message into fields (RFC 5322 §2.2), over octets, with CRLF or LF line ends. The author
 * comes from here only, so no later parser can change the answer.
 * @throws Rejection `too_large` over a limit, `malformed` for a line that is no field, a bare CR or NUL
 */
export function scanHeaders(message: Uint8Array, limits: HeaderLimits, from = 0): HeaderBlock {
  const octets = toBuffer(message)
  const fields: HeaderField[] = []
  let at = from
  while (at < octets.length) {
    if (isLineEnd(octets, at)) return { fields, bodyStart: endOfLine(octets, at) }
    const end = endOfField(octets, at, at + limits.field_bytes)
    if (end - at > limits.field_bytes) throw tooLarge(`a header field is larger than ${limits.field_bytes} bytes`)
    if (end - from > limits.header_bytes) throw tooLarge(`the header is larger than ${limits.header_bytes} bytes`)
    if (fields.length >= limits.fields) throw tooLarge(`more than ${limits.fields} header fields`)
    fields.push(readField(octets, at, end))
    at = end
  }
  return { fields, bodyStart: at }
}

/** A view of the same memory; Buffer has the fast searches. */
export function toBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength)
}

/** The same octets without those between `start` and `end`, in order; a copy only where there are some. */
export function withoutRanges(octets: Buffer, ranges: readonly (readonly [start: number, end: number])[]): Buffer {
  if (ranges.length === 0) return octets
  const starts = [0, ...ranges.map(([, end]) => end)]
  const ends = [...ranges.map(([start]) => start), octets.length]
  return Buffer.concat(starts.map((start, index) => octets.subarray(start, ends[index])))
}

/** The values of all fields of this name, in order. */
export function fieldValues({ fields }: HeaderBlock, name: string): string[] {
  return fields.filter(field => field.name === name).map(field => field.value)
}

/** The value of the first field of this name. */
export function findField({ fields }: HeaderBlock, name: string): string | undefined {
  return fields.find(field => field.name === name)?.value
}

/** Fields a message may have once only (RFC 5322 §3.6, RFC 2045 §3). A second `From` is refused elsewhere. */
const onceOnlyFields = [
  'sender',
  'reply-to',
  'to',
  'cc',
  'date',
  'subject',
  'message-id',
  'in-reply-to',
  'references',
  'content-type',
  'content-transfer-encoding',
] as const

/** Names of once-only fields that are there more than once: never pick one of them. */
export function findRepeatedFields(block: HeaderBlock): string[] {
  return onceOnlyFields.filter(name => fieldValues(block, name).length > 1)
}

function isLineEnd(octets: Buffer, at: number): boolean {
  return octets[at] === LF || (octets[at] === CR && octets[at + 1] === LF)
}

function endOfLine(octets: Buffer, at: number): number {
  const lf = octets.indexOf(LF, at)
  return lf < 0 ? octets.length : lf + 1
}

/** Past the last line of a folded field; stops looking soon after `cap`. */
function endOfField(octets: Buffer, start: number, cap: number): number {
  let end = endOfLine(octets, start)
  while (end <= cap && (octets[end] === SPACE || octets[end] === TAB)) end = endOfLine(octets, end)
  return end
}

function readField(octets: Buffer, start: number, end: number): HeaderField {
  const line = octets.subarray(start, end)
  const colon = line.indexOf(COLON)
  const name = colon < 0 || colon > maxName ? '' : line.toString('latin1', 0, colon).replace(/[ \t]+$/, '')
  if (!namePattern.test(name)) throw new Rejection('malformed', 'Cannot read mail: a header line is not a field')
  if (hasBareControl(line)) throw new Rejection('malformed', 'Cannot read mail: a header field has a bare CR or NUL')
  const text = decodeOctets(line.subarray(colon + 1))
  return { name: name.toLowerCase(), value: text.replace(/\r?\n/g, '').trim(), start, end }
}

function hasBareControl(line: Buffer): boolean {
  if (line.includes(NUL)) return true
  for (let cr = line.indexOf(CR); cr >= 0; cr = line.indexOf(CR, cr + 1)) if (line[cr + 1] !== LF) return true
  return false
}

/** UTF-8 (RFC 6532); what is not comes from old software and is read as Latin-1. */
function decodeOctets(octets: Buffer): string {
  return isAscii(octets) || !isUtf8(octets) ? octets.toString('latin1') : octets.toString('utf8')
}

function tooLarge(what: string): Rejection {
  return new Rejection('too_large', `Cannot read mail: ${what}`)
}

/** Fields that hops on the way add or change: the same mail over two paths differs in them only. */
const traceNames: ReadonlySet<string> = new Set([
  'received',
  'return-path',
  'delivered-to',
  'x-original-to',
  'x-delivered-to',
  'x-envelope-to',
  'x-received',
  'authentication-results',
  'received-spf',
  'dkim-filter',
])
const tracePrefixes = [
  'arc-',
  'x-google-',
  'x-gm-',
  'x-spam-',
  'x-ses-',
  'x-mailgun-',
  'x-forwardemail-',
  'x-cloudmailin-',
  'x-pm-',
]

/** SHA-256 of a message without its trace fields, lower-case hex: what makes a resent message a duplicate. */
export function digestContent(octets: Buffer, { fields, bodyStart }: HeaderBlock): string {
  const hash = createHash('sha256')
  for (const { name, start, end } of fields) if (!isTrace(name)) hash.update(octets.subarray(start, end))
  return hash.update('\r\n').update(octets.subarray(bodyStart)).digest('hex')
}

function isTrace(name: string): boolean {
  return traceNames.has(name) || tracePrefixes.some(prefix => name.startsWith(prefix))
}
