import { hash } from 'node:crypto'
import { parse as parsePlainly } from 'lossless-json'

/** Anything JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined }

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

/** Characters that are invisible, or change the order of others. */
const unseen = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu
const turning = /[\u202a-\u202e\u2066-\u2069]/g

/**
 * JSON for a person who decides by it: invisible characters are written as their numbers. It reads back as the same
 * value.
 */
export function writeVisibleJson(json: Json, space?: number): string {
  return JSON.stringify(json, null, space).replace(unseen, writeNumbers)
}

/** Words of others within our own: they turn none of them round. */
export function withoutTurning(text: string): string {
  return text.replace(turning, '\ufffd')
}

function writeNumbers(character: string): string {
  return character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

const base58Digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const digitValues: ReadonlyMap<string, number> = new Map([...base58Digits].map((digit, value) => [digit, value]))

/** Keys and signatures are short, and the arithmetic takes the square of the length. */
const maxBase58Bytes = 128

/** Bytes as base58btc, leading zero bytes as `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 58n) digits = base58Digits[Number(rest % 58n)] + digits
  return '1'.repeat(countLeading(bytes, 0)) + digits
}

/** The bytes of a base58btc text, or undefined when it is none or too long. */
export function decodeBase58(text: string): Uint8Array | undefined {
  if (text.length > maxBase58Bytes * 1.4) return undefined
  let number = 0n
  for (const digit of text) {
    const value = digitValues.get(digit)
    if (value === undefined) return undefined
    number = number * 58n + BigInt(value)
  }
  const hex = number === 0n ? '' : number.toString(16)
  const zeros = Buffer.alloc(countLeading(text, '1'))
  return Buffer.concat([zeros, Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')])
}

function countLeading<Item>(items: ArrayLike<Item>, wanted: Item): number {
  let count = 0
  while (count < items.length && items[count] === wanted) count += 1
  return count
}

/** The named references that posts use; any other stands as it is written. */
const namedCharacters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    hellip: '…',
    mdash: '—',
    ndash: '–',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    laquo: '«',
    raquo: '»',
    bull: '•',
    middot: '·',
    copy: '©',
    reg: '®',
    trade: '™',
    euro: '€',
    pound: '£',
    deg: '°',
    times: '×',
    larr: '←',
    rarr: '→',
    shy: '\u00ad',
    zwj: '\u200d',
    zwnj: '\u200c',
    auml: 'ä',
    ouml: 'ö',
    uuml: 'ü',
    Auml: 'Ä',
    Ouml: 'Ö',
    Uuml: 'Ü',
    szlig: 'ß',
    eacute: 'é',
    egrave: 'è',
    agrave: 'à',
    ccedil: 'ç',
  }),
)
const characterReference = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(characterReference, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name) return namedCharacters.get(name) ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
    return isCharacter(code) ? String.fromCodePoint(code) : '\ufffd'
  })
}

function isCharacter(code: number): boolean {
  return code > 0 && code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff)
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for HTML, in content and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => escapes[char] ?? char)
}

/** UTF-16 code units. No honest address is longer, and each one costs its reader time. */
export const maxUrlLength = 2_048

/** Octets of a DNS name (RFC 1035 §2.3.4). At most 127 labels fit in. */
export const maxHostLength = 253

/**
 * Reads a URL that a peer wrote, absolute or against `base`. Undefined when it is none, when it has more than 2,048 characters as
 * written or in its normal form, or its host more than 253 octets. Any scheme.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  if (text.length > maxUrlLength) return undefined
  const url = URL.parse(text, base)
  return url && isHostLength(url.hostname) && url.href.length <= maxUrlLength ? url : undefined
}

/** Whether a host is short enough to be one; a dot at its end does not count. */
export function isHostLength(host: string): boolean {
  return host.length <= (host.endsWith('.') ? maxHostLength + 1 : maxHostLength)
}
