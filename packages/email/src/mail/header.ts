// Splits the header of a message into fields by octets (RFC 5322 §2.2).

import { isAscii, isUtf8 } from 'node:buffer'
// The import names a single file, because a worker thread starts a third sooner without the schemas of the whole
// package.
import { Rejection } from '@postern/message/errors'
import type { MailLimits } from '../config/limits.ts'
import { toBuffer } from './buffers.ts'

/** One field of a header. `start` and `end` are offsets of its octets, line ends included. */
export interface HeaderField {
  /** The name in lower case. */
  readonly name: string
  /** The unfolded and trimmed value. Encoded words are not decoded. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** The header of a message or a part. */
export interface HeaderBlock {
  readonly fields: readonly HeaderField[]
  /** The offset of the first octet after the empty line, or the length of the message if it has no empty line. */
  readonly bodyStart: number
}

export type HeaderLimits = Pick<MailLimits, 'header_bytes' | 'field_bytes' | 'fields'>

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]

const namePattern = /^[!-9;-~]+$/

/** The longest line in octets (RFC 5322 §2.1.1). A name has to end within the first line. */
const maxNameBytes = 998

/**
 * Splits the header block of a message into fields (RFC 5322 §2.2). It reads octets, with CRLF or LF line ends. The
 * author is read from these fields only, so no later parser can change the author.
 * @throws Rejection `too_large` over a limit, `malformed` for a line that is no field, a bare CR or NUL
 */
export function scanHeaders(message: Uint8Array, limits: HeaderLimits, start = 0): HeaderBlock {
  const octets = toBuffer(message)
  const fields: HeaderField[] = []
  let position = start
  while (position < octets.length) {
    if (startsLineEnd(octets, position)) return { fields, bodyStart: findLineEnd(octets, position) }
    const end = findFieldEnd(octets, position, position + limits.field_bytes)
    if (end - position > limits.field_bytes)
      throw createTooLargeRejection(`a header field is larger than ${limits.field_bytes} bytes`)
    if (end - start > limits.header_bytes)
      throw createTooLargeRejection(`the header is larger than ${limits.header_bytes} bytes`)
    if (fields.length >= limits.fields) throw createTooLargeRejection(`more than ${limits.fields} header fields`)
    fields.push(readField(octets, position, end))
    position = end
  }
  return { fields, bodyStart: position }
}

/** Returns the values of all fields of this name, in order. */
export function fieldValues({ fields }: HeaderBlock, name: string): string[] {
  return fields.filter(field => field.name === name).map(field => field.value)
}

/** Returns the value of the first field of this name. */
export function findField({ fields }: HeaderBlock, name: string): string | undefined {
  return fields.find(field => field.name === name)?.value
}

function startsLineEnd(octets: Buffer, position: number): boolean {
  return octets[position] === LF || (octets[position] === CR && octets[position + 1] === LF)
}

function findLineEnd(octets: Buffer, position: number): number {
  const lf = octets.indexOf(LF, position)
  return lf < 0 ? octets.length : lf + 1
}

/** Returns the offset after the last line of a folded field. It stops soon after `maxEnd`. */
function findFieldEnd(octets: Buffer, start: number, maxEnd: number): number {
  let end = findLineEnd(octets, start)
  while (end <= maxEnd && (octets[end] === SPACE || octets[end] === TAB)) end = findLineEnd(octets, end)
  return end
}

function readField(octets: Buffer, start: number, end: number): HeaderField {
  // Searches in a text take a fraction of the time of searches in a Buffer.
  const line = octets.toString('latin1', start, end)
  const colon = line.indexOf(':')
  const name = colon < 0 || colon > maxNameBytes ? '' : line.slice(0, colon).replace(/[ \t]+$/, '')
  if (!namePattern.test(name)) throw new Rejection('malformed', 'Cannot read mail: a header line is not a field')
  if (hasBareCrOrNul(line)) throw new Rejection('malformed', 'Cannot read mail: a header field has a bare CR or NUL')
  const text = decodeOctets(octets.subarray(start + colon + 1, end)) ?? line.slice(colon + 1)
  const isFolded = text.includes('\n') && text.indexOf('\n') < text.length - 1
  return { name: name.toLowerCase(), value: (isFolded ? text.replace(/\r?\n/g, '') : text).trim(), start, end }
}

function hasBareCrOrNul(line: string): boolean {
  if (line.includes('\0')) return true
  for (let cr = line.indexOf('\r'); cr >= 0; cr = line.indexOf('\r', cr + 1)) if (line[cr + 1] !== '\n') return true
  return false
}

/** Decodes UTF-8 (RFC 6532). It returns undefined for other octets, which come from old software and are read as Latin-1, and for ASCII. */
function decodeOctets(octets: Buffer): string | undefined {
  return isAscii(octets) || !isUtf8(octets) ? undefined : octets.toString('utf8')
}

function createTooLargeRejection(subject: string): Rejection {
  return new Rejection('too_large', `Cannot read mail: ${subject}`)
}
