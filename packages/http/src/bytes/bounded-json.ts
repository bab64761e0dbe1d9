import { parseJsonText, Rejection } from '@postern/core'

interface JsonLimits {
  /** Nesting of arrays and objects; default 64. */
  readonly maxDepth?: number | undefined
  /** The name in the message; default `body`. */
  readonly what?: string | undefined
}

const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses UTF-8 JSON (RFC 8259; it skips a byte-order mark). It measures the depth on the bytes, before parsing. @throws Rejection
 * `malformed`, which quotes nothing of the text
 */
export function parseBoundedJson(bytes: Uint8Array, { maxDepth = 64, what = 'body' }: JsonLimits = {}): unknown {
  if (isDeeperThan(bytes, maxDepth)) throw malformed(what, `nested deeper than ${maxDepth} levels`)
  const text = decodeUtf8(bytes)
  if (text === undefined) throw malformed(what, 'not valid UTF-8')
  try {
    return parseJsonText(text)
  } catch {
    // The parser's own message quotes the text, which must not even reach the log.
    throw malformed(what, 'not valid JSON')
  }
}

/** Bytes of multi-byte characters are all above 0x7f, so the structure is visible without decoding. */
function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  return hasMoreOpenings(bytes, maxDepth) && measuresDeeper(bytes, maxDepth)
}

/** Most documents have fewer brackets in all than the limit of nesting. The native search counts them faster. */
function hasMoreOpenings(bytes: Uint8Array, limit: number): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (const opening of [openBrace, openBracket]) {
    for (let at = view.indexOf(opening); at >= 0 && count <= limit; at = view.indexOf(opening, at + 1)) count += 1
  }
  return count > limit
}

function measuresDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = findClosingQuote(bytes, at)
    else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

/** The place of the quotation mark that ends the string which begins at `start`; the length of the bytes when none does. */
export function findClosingQuote(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function malformed(what: string, problem: string): Rejection {
  return new Rejection('malformed', `Cannot read ${what}: ${problem}`)
}
