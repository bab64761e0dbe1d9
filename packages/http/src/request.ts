import { isIPv6 } from 'node:net'
import type { ByteHold, IntakeSteps, Proof, UsedKey } from '@postern/core'
import { isJsonObject, parseIfJson, parseJsonText, Rejection, Unavailable } from '@postern/core'

const holds = new WeakMap<Request, ByteHold>()

/** Makes `readBody` count the bytes of this request in `hold`. The caller releases it after the answer. */
export function countBodyIn(request: Request, hold: ByteHold): void {
  holds.set(request, hold)
}

/** A body of this declared length is read at once. A longer one is counted as it arrives. */
const smallBytes = 64 * 1024

/**
 * The bytes of a request, at most `maxBytes`. It checks the declared length before it reads anything. @throws Rejection `too_large`,
 * `unsupported` (a content coding other than identity), `malformed` (cut short), `rate_limited`; Unavailable when the byte budget of the
 * request's hold is used up
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  checkDeclaredBody(request.headers, maxBytes)
  const declared = request.headers.get('content-length')
  const isSmall = declared !== null && Number(declared) <= smallBytes
  const hold = holds.get(request)
  try {
    if (isSmall) hold?.add(Number(declared))
    return await (isSmall ? takeBody(request, maxBytes) : countBody(request, maxBytes, hold))
  } catch (cause) {
    if (cause instanceof Rejection || cause instanceof Unavailable) throw cause
    throw new Rejection('malformed', 'Cannot read body: connection was cut', { cause })
  }
}

/**
 * Checks what the head of a request declares about its body, like `readBody`, for endpoints with more checks before the body. @throws
 * Rejection `too_large`, `unsupported`, `malformed`
 */
export function checkDeclaredBody(headers: Headers, maxBytes: number): void {
  const coding = headers.get('content-encoding')
  if (coding && coding.toLowerCase() !== 'identity') {
    throw new Rejection('unsupported', 'Cannot read body: content coding is not supported')
  }
  const declared = headers.get('content-length')
  if (declared === null) return
  if (!/^\d+$/.test(declared)) throw new Rejection('malformed', 'Cannot read body: Content-Length is not a number')
  if (Number(declared) > maxBytes) throw tooLarge(maxBytes)
}

/** HTTP/1.1 framing enforces the declared length, and the server reads a whole body fast. */
async function takeBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > maxBytes) throw tooLarge(maxBytes)
  return bytes
}

async function countBody({ body }: Request, maxBytes: number, hold: ByteHold | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    hold?.add(chunk.length)
    chunks.push(chunk)
  }
  return joinBytes(chunks, size)
}

function tooLarge(maxBytes: number): Rejection {
  return new Rejection('too_large', `Cannot read body: larger than ${maxBytes} bytes`)
}

/** The chunks as one plain `Uint8Array` of `size` bytes. */
export function joinBytes(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined
}

interface JsonLimits {
  /** Nesting of arrays and objects; default 64. */
  readonly maxDepth?: number | undefined
  /** The name in the message; default `body`. */
  readonly what?: string | undefined
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
  return hasMoreOf([openBrace, openBracket], bytes, maxDepth) && measuresDeeper(bytes, maxDepth)
}

/**
 * Whether JSON text has more than `most` members and items in all. Many tiny values cost a parser, and all later code, far more than their
 * bytes. It counts before parsing; strings may contain any number of commas.
 */
export function hasMoreMembers(bytes: Uint8Array, most: number): boolean {
  return hasMoreOf([comma, openBracket, openBrace], bytes, most) && countsMoreMembers(bytes, most)
}

/** Most documents have fewer of these characters, even with those in strings, than the limit. The native search counts them faster. */
function hasMoreOf(characters: readonly number[], bytes: Uint8Array, limit: number): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (const character of characters) {
    for (let at = view.indexOf(character); at >= 0 && count <= limit; at = view.indexOf(character, at + 1)) count += 1
  }
  return count > limit
}

function countsMoreMembers(bytes: Uint8Array, most: number): boolean {
  let count = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = findClosingQuote(bytes, at)
    else if (byte === comma || byte === openBracket || byte === openBrace) count += 1
    if (count > most) return true
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

/** The place of the quotation mark that ends the string which begins at `start`; the length of the bytes when none does. */
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

function malformed(what: string, problem: string): Rejection {
  return new Rejection('malformed', `Cannot read ${what}: ${problem}`)
}

interface ServerEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } | undefined } | undefined
  /** The address that the program found behind its own proxies. */
  readonly clientAddress?: string | undefined
}

/** The network address of a request, from the bindings of the Node server; `''` when there is none. */
export function peerAddress(env: unknown): string {
  const { clientAddress, incoming } = (env as ServerEnv | null | undefined) ?? {}
  return clientAddress ?? (incoming?.socket?.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
}

/** The network of one subscriber: an IPv4 address, or 64 bits of IPv6, because they choose the other 64 (RFC 7421). */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [left = [], right = []] = address.split('::').map(half => (half ? half.split(':') : []))
  const lost = 8 - left.length - right.length - (address.includes('.') ? 1 : 0)
  const groups = [...left, ...Array.from({ length: lost }, () => '0'), ...right].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

interface MediaType {
  /** `type/subtype`, lower case. */
  readonly type: string
  /** Names in lower case. If a name repeats, the first one counts. */
  readonly parameters: Map<string, string>
}

const typePattern = /[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*/iy
const parameterPattern =
  /;[ \t]*(?:([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*/iy

/** Parses a Content-Type or one range of an Accept header (RFC 9110 §8.3.1); undefined when it is invalid. */
export function parseMediaType(text: string | null | undefined): MediaType | undefined {
  if (!text) return undefined
  typePattern.lastIndex = 0
  const type = typePattern.exec(text)?.[1]
  if (!type) return undefined
  const parameters = new Map<string, string>()
  let at = typePattern.lastIndex
  while (at < text.length) {
    parameterPattern.lastIndex = at
    const match = parameterPattern.exec(text)
    if (!match) return undefined
    const [, name, token, quoted] = match
    const key = name?.toLowerCase()
    if (key && !parameters.has(key)) parameters.set(key, token ?? quoted?.replace(/\\(.)/g, '$1') ?? '')
    at = parameterPattern.lastIndex
  }
  return { type: type.toLowerCase(), parameters }
}

/**
 * Selects one of `types` for the answer (RFC 9110 §12.5.1): the peer's favourite, or the first of equals; undefined when none is
 * acceptable. Without a header every type is acceptable.
 */
export function acceptsType(acceptHeader: string | null | undefined, types: readonly string[]): string | undefined {
  if (!acceptHeader?.trim()) return types[0]
  const ranges = splitList(acceptHeader).flatMap(text => parseMediaType(text) ?? [])
  let best: { readonly type: string; readonly quality: number } | undefined
  for (const type of types) {
    const quality = qualityOf(type, ranges)
    if (quality > (best?.quality ?? 0)) best = { type, quality }
  }
  return best?.type
}

/** The quality of the most specific matching range; 0 when none matches. */
function qualityOf(offered: string, ranges: readonly MediaType[]): number {
  const parsed = parseMediaType(offered)
  if (!parsed) return 0
  let found = { rank: -1, quality: 0 }
  for (const range of ranges) {
    const rank = rankOf(range, parsed)
    if (rank > found.rank) found = { rank, quality: readQuality(range) }
  }
  return found.quality
}

/** How closely a range matches the offered type; -1 when it does not. */
function rankOf({ type, parameters }: MediaType, offered: MediaType): number {
  if (type === '*/*') return 0
  if (type === `${offered.type.split('/')[0]}/*`) return 1
  if (type !== offered.type) return -1
  const wanted = [...parameters].filter(([name]) => name !== 'q' && name !== 'charset')
  return wanted.every(([name, value]) => offered.parameters.get(name) === value) ? 2 + wanted.length : -1
}

function readQuality({ parameters }: MediaType): number {
  const quality = Number(parameters.get('q') ?? 1)
  return quality >= 0 && quality <= 1 ? quality : 0
}

/** Splits at commas outside of quotes. */
function splitList(text: string): string[] {
  const items: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (isQuoted && char === '\\') at += 1
    else if (char === '"') isQuoted = !isQuoted
    else if (char === ',' && !isQuoted) {
      items.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...items, text.slice(start)]
}

const entityTag = /[ \t,]*(?:W\/)?("[^"]*")[ \t]*(?:,|$)/y

/** Whether an If-None-Match header names this entity tag, by weak comparison (RFC 9110 §13.1.2). */
export function matchesEtag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  for (let at = 0; at < ifNoneMatch.length; at = entityTag.lastIndex) {
    entityTag.lastIndex = at
    const match = entityTag.exec(ifNoneMatch)
    if (!match) return false
    if (match[1] === opaque) return true
  }
  return false
}

/** Those that have proven a request already: what was fetched then is remembered now. */
const provenBefore = new WeakSet<UsedKey>()

/** Notes how the caller of a request was proven, which began at `since`. */
export function noteCaller(
  steps: IntakeSteps,
  since: number,
  { proof, usedKey }: { readonly proof: Proof; readonly usedKey?: UsedKey | undefined },
): void {
  const isKnown = usedKey !== undefined && provenBefore.has(usedKey) && usedKey.from === 'fetched'
  if (usedKey) provenBefore.add(usedKey)
  steps.note(proof, since, isKnown ? { ...usedKey, from: 'cache' } : usedKey)
}

/** A token with more is not looked at. */
const maxClaims = 8 * 1024

/** Whom a bearer token names, for the list of what was refused: nothing of it is verified. Undefined when it is not a JWT. */
export function readClaimedSubject(headers: Headers): string | undefined {
  const token = headers.get('authorization')?.slice(0, maxClaims)
  const [, payload] = /^(?:Bearer|DPoP) +[\w-]+\.([\w-]+)\./i.exec(token ?? '') ?? []
  const claims = payload && parseIfJson(Buffer.from(payload, 'base64url').toString())
  if (!isJsonObject(claims)) return undefined
  const { sub, client_id, iss } = claims
  const subject = [sub, client_id].find(claim => typeof claim === 'string')
  const issuer = typeof iss === 'string' ? ` of ${iss}` : ''
  return subject === undefined ? undefined : `${subject}${issuer}`
}
