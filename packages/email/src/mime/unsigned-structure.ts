import { isUtf8 } from 'node:buffer'
import type { HeaderBlock, HeaderLimits } from '../mail/octets.ts'
import { findField, scanHeaders } from '../mail/octets.ts'
import { readBoundary } from './shape.ts'

/** How a body is read whose signature covers the body, and not the fields that say how it is put together. */
export interface UnsignedStructure {
  /** For the parser, in place of those fields. */
  readonly fields: readonly string[]
  /** The fields do not fit the body: it is read as the text it is. */
  readonly isIgnored: boolean
  /** Readers may not see much of the signed text, as in HTML, so its source is kept beside it. */
  readonly keepsSource: boolean
}

/**
 * A server that forwards a mail can change such fields: another boundary, type or encoding shows one piece of the
 * signed text and hides the rest. So the fields count only when they cover all of the body. Otherwise the body is read
 * as plain text.
 */
export function readUnsignedStructure(octets: Buffer, header: HeaderBlock, limits: HeaderLimits): UnsignedStructure {
  const body = octets.subarray(header.bodyStart)
  const type = findField(header, 'content-type') ?? 'text/plain'
  const encoding = /^[a-z0-9-]*/i.exec(findField(header, 'content-transfer-encoding') ?? '')?.[0].toLowerCase() ?? ''
  if (/^multipart\//i.test(type)) return readMultipart(body, type, limits) ?? readAsText(body)
  const isBase64 = encoding === 'base64'
  if (isBase64 && !isBase64Text(body)) return readAsText(body)
  const isHtml = /^text\/html\b/i.test(type)
  const isPlain = /^text\/plain\b/i.test(type)
  if (!isHtml && !isPlain && !isBase64) return readAsText(body)
  if (isHtml && !isBase64 && !/^\s*</.test(body.toString('latin1', 0, 1024))) return readAsText(body)
  const known = isHtml || isPlain ? rebuildTextType(type) : type
  const fields = [`Content-Type: ${known}`, ...(encoding === '' ? [] : [`Content-Transfer-Encoding: ${encoding}`])]
  return { fields, isIgnored: false, keepsSource: isHtml }
}

/** Charsets in which plain ASCII reads as something else. */
const foreignToAscii = /^(?:utf-?(?:7|16|32)|ucs|hz-|ebcdic|cp037|ibm)/i

/** Written anew, so that the parser finds nothing in it that was not looked at here. */
function rebuildTextType(type: string): string {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1] ?? 'utf-8'
  const flowed = /;\s*format\s*=\s*"?flowed\b/i.test(type) ? '; format=flowed' : ''
  const delsp = /;\s*delsp\s*=\s*"?yes\b/i.test(type) ? '; delsp=yes' : ''
  const name = /^text\/html\b/i.test(type) ? 'text/html' : 'text/plain'
  return `${name}; charset=${foreignToAscii.test(charset) ? 'utf-8' : charset}${flowed}${delsp}`
}

function readAsText(body: Buffer): UnsignedStructure {
  const charset = isUtf8(body) ? 'utf-8' : 'windows-1252'
  return { fields: [`Content-Type: text/plain; charset=${charset}`], isIgnored: true, keepsSource: false }
}

/** Undefined where there is text outside of its parts. */
function readMultipart(body: Buffer, type: string, limits: HeaderLimits): UnsignedStructure | undefined {
  const boundary = readBoundary(type) ?? ''
  const subtype = /^multipart\/([\w.+-]{1,64})/i.exec(type)?.[1] ?? 'mixed'
  if (!/^[\w'()+,./:=? -]{1,70}$/.test(boundary)) return undefined
  const first = findLine(body, `--${boundary}`, 0)
  const last = findLine(body, `--${boundary}--`, 0)
  if (first < 0 || (last >= 0 && last < first)) return undefined
  const after = last < 0 ? '' : body.toString('latin1', last + boundary.length + 4)
  if (!isKnownPreamble(body.toString('latin1', 0, first)) || after.trim() !== '') return undefined
  if (!haveSoundHeaders(body, `--${boundary}`, limits)) return undefined
  const field = `Content-Type: multipart/${subtype}; boundary="${boundary}"`
  return { fields: [field], isIgnored: false, keepsSource: false }
}

/** Words after a line that becomes a delimiter would be the header of a part, which nobody sees. */
function haveSoundHeaders(body: Buffer, delimiter: string, limits: HeaderLimits): boolean {
  for (let at = findLine(body, delimiter, 0); at >= 0; at = findLine(body, delimiter, at + 1)) {
    const start = body.indexOf('\n', at) + 1
    if (start > 0 && !isPartHeader(body, start, limits)) return false
  }
  return true
}

function isPartHeader(body: Buffer, start: number, limits: HeaderLimits): boolean {
  try {
    const { fields } = scanHeaders(body, limits, start)
    return fields.every(({ name }) => /^(?:content-|x-|mime-version$)/.test(name))
  } catch {
    return false
  }
}

/** The start of a line that is exactly this, as the parser recognizes delimiters; -1 where there is none. */
function findLine(body: Buffer, line: string, from: number): number {
  for (let at = body.indexOf(line, from); at >= 0; at = body.indexOf(line, at + 1)) {
    const next = body[at + line.length]
    const isStart = at === 0 || body[at - 1] === 0x0a
    if (isStart && (next === undefined || next === 0x0d || next === 0x0a)) return at
  }
  return -1
}

/** The words that programs write for readers without MIME. */
const preambles: readonly RegExp[] = [
  /^this is an? (?:[a-z-]+ )*message (?:with multiple parts )?in mime format\.?$/i,
  /^this message is in mime format\.(?: since your mail reader does not understand this format, some or all of this message may not be legible\.)?$/i,
  /^this is an openpgp\/mime (?:signed|encrypted) message \(rfc [\d, and]+\)\.?$/i,
]

function isKnownPreamble(text: string): boolean {
  const words = text.slice(0, 1000).replace(/\s+/g, ' ').trim()
  return text.trim() === '' || (text.length <= 1000 && preambles.some(pattern => pattern.test(words)))
}

/** Whole groups of four and nothing else: hardly a sentence. */
function isBase64Text(body: Buffer): boolean {
  const text = body.toString('latin1').trimEnd().replace(/\r?\n/g, '')
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
