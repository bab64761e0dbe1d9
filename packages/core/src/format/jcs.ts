import { hash } from 'node:crypto'

/**
 * JSON in its one canonical form (RFC 8785): members sorted by UTF-16 code units, numbers and strings as ECMAScript
 * writes them. `undefined` members are left out, as in any JSON.
 * @throws TypeError for what I-JSON cannot say: lone surrogates, numbers that are not finite
 */
export function canonicalizeJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalizeJson).join(',')}]`
  if (typeof value === 'object' && value !== null) return canonicalizeObject(value as Readonly<Record<string, unknown>>)
  return canonicalizeScalar(value)
}

/** SHA-256 of the canonical form, 32 bytes. @throws TypeError as `canonicalizeJson` */
export function hashCanonicalJson(value: unknown): Buffer {
  return hash('sha256', canonicalizeJson(value), 'buffer')
}

function canonicalizeObject(object: Readonly<Record<string, unknown>>): string {
  const members = Object.keys(object)
    .filter(name => object[name] !== undefined)
    .sort()
    .map(name => `${canonicalizeScalar(name)}:${canonicalizeJson(object[name])}`)
  return `{${members.join(',')}}`
}

function canonicalizeScalar(value: unknown): string {
  if (typeof value === 'string' && !value.isWellFormed()) throw new TypeError('a string has a lone surrogate')
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('a number is not finite')
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`a ${typeof value} has no JSON form`)
  return text
}
