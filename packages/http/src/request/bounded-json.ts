// Parses the JSON of a request within limits on its depth and its number of members.

import { parseJsonText, Rejection } from '@postern/message'

interface JsonLimits {
  /** The deepest nesting of arrays and objects. The default is 64. */
  readonly maxDepth?: number | undefined
  /** The name of the text in the error message. The default is `body`. */
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
 * Parses UTF-8 JSON (RFC 8259) with or without a byte-order mark. The depth is measured on the bytes, before parsing.
 * @throws Rejection `malformed`, which quotes nothing of the text
 */
export function parseBoundedJson(bytes: Uint8Array, { maxDepth = 64, label = 'body' }: JsonLimits = {}): unknown {
  if (isDeeperThan(bytes, maxDepth)) throw refuseJson(label, `nested deeper than ${maxDepth} levels`)
  const text = decodeUtf8(bytes)
  if (text === undefined) throw refuseJson(label, 'not valid UTF-8')
  try {
    return parseJsonText(text)
  } catch {
    // The parser's own message quotes the text, which must not even reach the log.
    throw refuseJson(label, 'not valid JSON')
  }
}

/** Returns true if the nesting is deeper than `maxDepth`. The bytes need no decoding, because those of multi-byte characters are all above 0x7f. */
function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  return mayContainMore([openBrace, openBracket], bytes, maxDepth) && nestsDeeper(bytes, maxDepth)
}

/**
 * Returns true if JSON text has more than `maxMembers` members and items in total. Many tiny values cost a parser, and all later code, far more than their
 * bytes. The count needs no parsing, and commas in strings do not count.
 */
export function hasMoreMembers(bytes: Uint8Array, maxMembers: number): boolean {
  return mayContainMore([comma, openBracket, openBrace], bytes, maxMembers) && containsMoreMembers(bytes, maxMembers)
}

/**
 * Returns true if the text contains more of these characters than the limit, by the fast native search. Characters in strings count too, but most
 * documents have few enough even so.
 */
function mayContainMore(characters: readonly number[], bytes: Uint8Array, limit: number): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (const character of characters) {
    for (let index = view.indexOf(character); index >= 0 && count <= limit; index = view.indexOf(character, index + 1))
      count += 1
  }
  return count > limit
}

function containsMoreMembers(bytes: Uint8Array, maxMembers: number): boolean {
  let count = 0
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]
    if (byte === quote) index = findClosingQuote(bytes, index)
    else if (byte === comma || byte === openBracket || byte === openBrace) count += 1
    if (count > maxMembers) return true
  }
  return false
}

function nestsDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]
    if (byte === quote) index = findClosingQuote(bytes, index)
    else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

/** Returns the index of the quotation mark that ends the string at `start`, or the length of the bytes if the string does not end. */
function findClosingQuote(bytes: Uint8Array, start: number): number {
  let index = start + 1
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1
  return index
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function refuseJson(label: string, reason: string): Rejection {
  return new Rejection('malformed', `Cannot read ${label}: ${reason}`)
}
