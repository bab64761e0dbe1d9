import { parse as parsePlainly } from 'lossless-json'

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a

/**
 * JSON text (RFC 8259) as a value; of a member that is repeated the last one counts, as for `JSON.parse`.
 *
 * `JSON.parse` of V8 13.6 and later misreads a member name that is written with an escape, depending on what an earlier
 * document had at that place. A document with such a name goes to a parser in JavaScript. The caller bounds its depth.
 * @throws SyntaxError, which may quote the text
 */
export function parseJsonText(text: string): unknown {
  return hasEscapedName(text) ? parsePlainly(text, undefined, plainly) : JSON.parse(text)
}

/** The value of JSON text; undefined for text that is no JSON. */
export function parseIfJson(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

/** A JSON object with unknown members; no array, not null. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const plainly = { parseNumber: Number, onDuplicateKey: ({ newValue }: { readonly newValue: unknown }) => newValue }

/** A backslash stands in strings only, and a string is a name if a colon follows it. */
function hasEscapedName(text: string): boolean {
  let at = text.indexOf('\\')
  while (at >= 0) {
    const end = endOfString(text, at)
    if (text.charCodeAt(skipSpace(text, end + 1)) === colon) return true
    at = text.indexOf('\\', end)
  }
  return false
}

function endOfString(text: string, inside: number): number {
  let at = inside
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at += 1
  return at
}
