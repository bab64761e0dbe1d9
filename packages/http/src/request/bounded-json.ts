// Parses the JSON of a request within limits on its depth and its number of members.

import { parseJsonText, Rejection } from '@postern/message'

interface JsonLimits {
  /** The deepest nesting of arrays and objects; default: 64. */
  readonly maxDepth?: number | undefined
  /** The name of the text in the error message; default: `body`. */
  readonly label?: string | undefined
}

const quote = 0x22
const comma = 0x2c
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
export function parseBoundedJson(bytes: Uint8Array, { maxDepth = 64, label = 'body' }: JsonLimits = {}): unknown {
  if (isDeeperThan(bytes, maxDepth)) throw malformed(label, `nested deeper than ${maxDepth} levels`)
  const text = decodeUtf8(bytes)
  if (text === undefined) throw malformed(label, 'not valid UTF-8')
  try {
    return parseJsonText(text)
  } catch {
    // The parser's own message quotes the text, which must not even reach the log.
    throw malformed(label, 'not valid JSON')
  }
}

/** Returns true if the nesting is deeper than `maxDepth`. It needs no decoding, because bytes of multi-byte characters are all above 0x7f. */
function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  return hasMoreOf([openBrace, openBracket], bytes, maxDepth) && measuresDeeper(bytes, maxDepth)
}

/**
 * Returns true if JSON text has more than `most` members and items in total. Many tiny values cost a parser, and all later code, far more than their
 * bytes. It counts before parsing; strings may contain any number of commas.
 */
export function hasMoreMembers(bytes: Uint8Array, maxMembers: number): boolean {
  return hasMoreOf([comma, openBracket, openBrace], bytes, maxMembers) && countsMoreMembers(bytes, maxMembers)
}

/**
 * Returns true if there may be too many, by the fast native search. Most documents have fewer of these characters than the limit, even including
 * those in strings.
 */
function hasMoreOf(characters: readonly number[], bytes: Uint8Array, limit: number): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (const character of characters) {
    for (let at = view.indexOf(character); at >= 0 && count <= limit; at = view.indexOf(character, at + 1)) count += 1
  }
  return count > limit
}

function countsMoreMembers(bytes: Uint8Array, maxMembers: number): boolean {
  let count = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = findClosingQuote(bytes, at)
    else if (byte === comma || byte === openBracket || byte === openBrace) count += 1
    if (count > maxMembers) return true
  }
  return false
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

/** Returns the index of the quotation mark that ends the string at `start`; the length of the bytes when none does. */
function findClosingQuote(bytes: Uint8Array, start: number): number {
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

function malformed(label: string, problem: string): Rejection {
  return new Rejection('malformed', `Cannot read ${label}: ${problem}`)
}
