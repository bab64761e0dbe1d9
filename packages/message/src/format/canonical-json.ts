// Writes JSON in its canonical form (RFC 8785) and hashes it.

import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/**
 * Returns JSON in its canonical form (RFC 8785): members sorted by UTF-16 code units, numbers and strings as ECMAScript
 * writes them. It leaves out `undefined` members, as JSON does.
 * @throws TypeError for values that I-JSON cannot express: lone surrogates, numbers that are not finite
 */
export function canonicalizeJson(value: unknown): string {
  const text = writeCanonically(value)
  if (text === undefined) throw new TypeError(`a ${typeof value} has no JSON form`)
  return text
}

/** Returns the SHA-256 of the canonical form, 32 bytes. @throws TypeError as `canonicalizeJson` */
export function hashCanonicalJson(value: unknown): Buffer {
  return hash('sha256', canonicalizeJson(value), 'buffer')
}

function writeCanonically(value: unknown): string | undefined {
  try {
    return canonicalize(value)
  } catch (cause) {
    throw new TypeError('a value has no canonical JSON form', { cause })
  }
}
