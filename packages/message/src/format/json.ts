// Parses JSON text (RFC 8259) without V8's bug in escaped member names.

import { parse as parsePlainly } from 'lossless-json'

/** A value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined }

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a

/**
 * Returns the value of JSON text (RFC 8259). If a member is repeated, the last one counts, as for `JSON.parse`.
 *
 * `JSON.parse` of V8 13.6 and later misreads a member name that contains an escape, depending on what an earlier document
 * had at that position. A parser in JavaScript reads documents with such a name, so the caller must limit their depth.
 * @throws SyntaxError, which may quote the text
 */
export function parseJsonText(text: string): unknown {
  return hasEscapedName(text) ? parsePlainly(text, undefined, plainOptions) : JSON.parse(text)
}

/** Returns the value of JSON text; undefined for text that is not JSON. */
export function parseIfJson(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

/** Returns true if a value is a JSON object, and neither an array nor null. Its members are unknown. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const plainOptions = { parseNumber: Number, onDuplicateKey: ({ newValue }: { readonly newValue: unknown }) => newValue }

/** Returns true if a member name contains an escape. Backslashes occur only in strings, and a string before a colon is a name. */
function hasEscapedName(text: string): boolean {
  let index = text.indexOf('\\')
  while (index >= 0) {
    const end = endOfString(text, index)
    if (text.charCodeAt(skipSpace(text, end + 1)) === colon) return true
    index = text.indexOf('\\', end)
  }
  return false
}

function endOfString(text: string, start: number): number {
  let index = start
  while (index < text.length && text.charCodeAt(index) !== quote) index += text.charCodeAt(index) === backslash ? 2 : 1
  return index
}

function skipSpace(text: string, start: number): number {
  let index = start
  while (' \t\r\n'.includes(text.charAt(index)) && index < text.length) index += 1
  return index
}
