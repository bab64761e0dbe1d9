// Chooses a safe reading for a signed body whose MIME header is not signed.
import { isUtf8 } from 'node:buffer'
import { readBoundary } from '../entity/boundary.ts'
import type { HeaderBlock, HeaderLimits } from '../mail/header.ts'
import { findField, scanHeaders } from '../mail/header.ts'

/** The reading of a signed body whose structure fields are not signed. */
export interface UnsignedStructure {
  /** The fields that the parser reads instead. */
  readonly fields: readonly string[]
  /** True if the original fields do not fit the body, so that it is read as plain text. */
  readonly isIgnored: boolean
  /** True if readers may see only some of the signed text, as in HTML. Then its source is also stored. */
  readonly keepsSource: boolean
}

/**
 * Returns a safe reading of a body. A server that forwards a mail can change its unsigned fields: another boundary,
 * type or encoding shows one piece of the signed text and hides the rest. So the fields count only if they explain the
 * whole body. Otherwise the body is read as plain text.
 */
export function readUnsignedStructure(octets: Buffer, header: HeaderBlock, limits: HeaderLimits): UnsignedStructure {
  const body = octets.subarray(header.bodyStart)
  const type = findField(header, 'content-type') ?? 'text/plain'
  const encoding = /^[a-z0-9-]*/i.exec(findField(header, 'content-transfer-encoding') ?? '')?.[0].toLowerCase() ?? ''
  if (/^multipart\//i.test(type)) return readMultipartStructure(body, type, limits) ?? readAsPlainText(body)
  const isBase64 = encoding === 'base64'
  if (isBase64 && !isBase64Text(body)) return readAsPlainText(body)
  const isHtml = /^text\/html\b/i.test(type)
  const isPlain = /^text\/plain\b/i.test(type)
  if (!isHtml && !isPlain && !isBase64) return readAsPlainText(body)
  if (isHtml && !isBase64 && !/^\s*</.test(body.toString('latin1', 0, 1024))) return readAsPlainText(body)
  const rebuiltType = isHtml || isPlain ? rebuildTextType(type) : type
  const fields = [
    `Content-Type: ${rebuiltType}`,
    ...(encoding === '' ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
  ]
  return { fields, isIgnored: false, keepsSource: isHtml }
}

/** Matches charsets that decode plain ASCII to other text. */
const nonAsciiCharset = /^(?:utf-?(?:7|16|32)|ucs|hz-|ebcdic|cp037|ibm)/i

/** Rebuilds a text type, so that the parser finds nothing in it that was not checked here. */
function rebuildTextType(type: string): string {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1] ?? 'utf-8'
  const flowedParam = /;\s*format\s*=\s*"?flowed\b/i.test(type) ? '; format=flowed' : ''
  const delspParam = /;\s*delsp\s*=\s*"?yes\b/i.test(type) ? '; delsp=yes' : ''
  const name = /^text\/html\b/i.test(type) ? 'text/html' : 'text/plain'
  return `${name}; charset=${nonAsciiCharset.test(charset) ? 'utf-8' : charset}${flowedParam}${delspParam}`
}

function readAsPlainText(body: Buffer): UnsignedStructure {
  const charset = isUtf8(body) ? 'utf-8' : 'windows-1252'
  return { fields: [`Content-Type: text/plain; charset=${charset}`], isIgnored: true, keepsSource: false }
}

/** Reads the structure of a multipart. It returns undefined if there is text outside its parts. */
function readMultipartStructure(body: Buffer, type: string, limits: HeaderLimits): UnsignedStructure | undefined {
  const boundary = readBoundary(type) ?? ''
  const subtype = /^multipart\/([\w.+-]{1,64})/i.exec(type)?.[1] ?? 'mixed'
  if (!/^[\w'()+,./:=? -]{1,70}$/.test(boundary)) return undefined
  const openingDelimiter = findLine(body, `--${boundary}`, 0)
  const closingDelimiter = findLine(body, `--${boundary}--`, 0)
  if (openingDelimiter < 0 || (closingDelimiter >= 0 && closingDelimiter < openingDelimiter)) return undefined
  const epilogue = closingDelimiter < 0 ? '' : body.toString('latin1', closingDelimiter + boundary.length + 4)
  if (!isKnownPreamble(body.toString('latin1', 0, openingDelimiter)) || epilogue.trim() !== '') return undefined
  if (!haveValidPartHeaders(body, `--${boundary}`, limits)) return undefined
  const field = `Content-Type: multipart/${subtype}; boundary="${boundary}"`
  return { fields: [field], isIgnored: false, keepsSource: false }
}

/**
 * Returns true if every delimiter is followed by a valid header of a part. Otherwise a text line could become a
 * delimiter, and the text after it a header that nobody sees.
 */
function haveValidPartHeaders(body: Buffer, delimiter: string, limits: HeaderLimits): boolean {
  for (let position = findLine(body, delimiter, 0); position >= 0; position = findLine(body, delimiter, position + 1)) {
    const start = body.indexOf('\n', position) + 1
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

/** Finds the start of a line that is exactly `line`, as the parser recognizes delimiters, or returns -1. */
function findLine(body: Buffer, line: string, start: number): number {
  for (let position = body.indexOf(line, start); position >= 0; position = body.indexOf(line, position + 1)) {
    const next = body[position + line.length]
    const isStart = position === 0 || body[position - 1] === 0x0a
    if (isStart && (next === undefined || next === 0x0d || next === 0x0a)) return position
  }
  return -1
}

/** The preambles that programs write for readers without MIME. */
const preambles: readonly RegExp[] = [
  /^this is an? (?:[a-z-]+ )*message (?:with multiple parts )?in mime format\.?$/i,
  /^this message is in mime format\.(?: since your mail reader does not understand this format, some or all of this message may not be legible\.)?$/i,
  /^this is an openpgp\/mime (?:signed|encrypted) message \(rfc [\d, and]+\)\.?$/i,
]

function isKnownPreamble(text: string): boolean {
  const visibleText = text.slice(0, 1000).replace(/\s+/g, ' ').trim()
  return text.trim() === '' || (text.length <= 1000 && preambles.some(pattern => pattern.test(visibleText)))
}

/** Returns true if the body consists of complete groups of four base64 characters. A sentence hardly ever does. */
function isBase64Text(body: Buffer): boolean {
  const text = body.toString('latin1').trimEnd().replace(/\r?\n/g, '')
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
