import { isAscii, isUtf8 } from 'node:buffer'
import type { KeyObject } from 'node:crypto'
import { createHash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { Platform } from '@postern/core'
// Not all of core: without its schemas a thread that reads mail starts a third sooner.
import { Rejection } from '@postern/core/errors'
import type { MailLimits } from '../config/limits.ts'
import { copyWithCrlf, relaxLines } from './octet-copies.ts'

/** One field of a header block. `start` and `end` are offsets of its octets, line ends included. */
export interface HeaderField {
  /** Lower case. */
  readonly name: string
  /** Unfolded and trimmed; encoded words as they are. */
  readonly value: string
  readonly start: number
  readonly end: number
}

export interface HeaderBlock {
  readonly fields: readonly HeaderField[]
  /** Offset of the first octet after the empty line; the length of the message where there is none. */
  readonly bodyStart: number
}

export type HeaderLimits = Pick<MailLimits, 'header_bytes' | 'field_bytes' | 'fields'>

const [LF, CR, NUL, SPACE, TAB, COLON] = [0x0a, 0x0d, 0x00, 0x20, 0x09, 0x3a]
const namePattern = /^[!-9;-~]+$/
/** Octets of a line (RFC 5322 §2.1.1): a name has to end within the first. */
const maxName = 998

/**
 * Splits the header block of a message into fields (RFC 5322 §2.2), over octets, with CRLF or LF line ends. The author
 * comes from here only, so no later parser can change the answer.
 * @throws Rejection `too_large` over a limit, `malformed` for a line that is no field, a bare CR or NUL
 */
export function scanHeaders(message: Uint8Array, limits: HeaderLimits, from = 0): HeaderBlock {
  const octets = toBuffer(message)
  const fields: HeaderField[] = []
  let at = from
  while (at < octets.length) {
    if (isLineEnd(octets, at)) return { fields, bodyStart: endOfLine(octets, at) }
    const end = endOfField(octets, at, at + limits.field_bytes)
    if (end - at > limits.field_bytes) throw tooLarge(`a header field is larger than ${limits.field_bytes} bytes`)
    if (end - from > limits.header_bytes) throw tooLarge(`the header is larger than ${limits.header_bytes} bytes`)
    if (fields.length >= limits.fields) throw tooLarge(`more than ${limits.fields} header fields`)
    fields.push(readField(octets, at, end))
    at = end
  }
  return { fields, bodyStart: at }
}

/** A view of the same memory; Buffer has the fast searches. */
export function toBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength)
}

/** The same octets without those between `start` and `end`, in order; a copy only where there are some. */
export function withoutRanges(octets: Buffer, ranges: readonly (readonly [start: number, end: number])[]): Buffer {
  if (ranges.length === 0) return octets
  const starts = [0, ...ranges.map(([, end]) => end)]
  const ends = [...ranges.map(([start]) => start), octets.length]
  return Buffer.concat(starts.map((start, index) => octets.subarray(start, ends[index])))
}

/** The values of all fields of this name, in order. */
export function fieldValues({ fields }: HeaderBlock, name: string): string[] {
  return fields.filter(field => field.name === name).map(field => field.value)
}

/** The value of the first field of this name. */
export function findField({ fields }: HeaderBlock, name: string): string | undefined {
  return fields.find(field => field.name === name)?.value
}

function isLineEnd(octets: Buffer, at: number): boolean {
  return octets[at] === LF || (octets[at] === CR && octets[at + 1] === LF)
}

function endOfLine(octets: Buffer, at: number): number {
  const lf = octets.indexOf(LF, at)
  return lf < 0 ? octets.length : lf + 1
}

/** Past the last line of a folded field; stops looking soon after `cap`. */
function endOfField(octets: Buffer, start: number, cap: number): number {
  let end = endOfLine(octets, start)
  while (end <= cap && (octets[end] === SPACE || octets[end] === TAB)) end = endOfLine(octets, end)
  return end
}

function readField(octets: Buffer, start: number, end: number): HeaderField {
  const line = octets.subarray(start, end)
  const colon = line.indexOf(COLON)
  const name = colon < 0 || colon > maxName ? '' : line.toString('latin1', 0, colon).replace(/[ \t]+$/, '')
  if (!namePattern.test(name)) throw new Rejection('malformed', 'Cannot read mail: a header line is not a field')
  if (hasBareControl(line)) throw new Rejection('malformed', 'Cannot read mail: a header field has a bare CR or NUL')
  const text = decodeOctets(line.subarray(colon + 1))
  return { name: name.toLowerCase(), value: text.replace(/\r?\n/g, '').trim(), start, end }
}

function hasBareControl(line: Buffer): boolean {
  if (line.includes(NUL)) return true
  for (let cr = line.indexOf(CR); cr >= 0; cr = line.indexOf(CR, cr + 1)) if (line[cr + 1] !== LF) return true
  return false
}

/** UTF-8 (RFC 6532); what is not comes from old software and is read as Latin-1. */
function decodeOctets(octets: Buffer): string {
  return isAscii(octets) || !isUtf8(octets) ? octets.toString('latin1') : octets.toString('utf8')
}

function tooLarge(what: string): Rejection {
  return new Rejection('too_large', `Cannot read mail: ${what}`)
}

/** Fields that hops on the way add or change: the same mail over two paths differs in them only. */
const traceNames: ReadonlySet<string> = new Set([
  'received',
  'return-path',
  'delivered-to',
  'x-original-to',
  'x-delivered-to',
  'x-envelope-to',
  'x-received',
  'authentication-results',
  'received-spf',
  'dkim-filter',
])
const tracePrefixes = [
  'arc-',
  'x-google-',
  'x-gm-',
  'x-spam-',
  'x-ses-',
  'x-mailgun-',
  'x-forwardemail-',
  'x-cloudmailin-',
  'x-pm-',
]

/** SHA-256 of a message without its trace fields, lower-case hex: what makes a resent message a duplicate. */
export function digestContent(octets: Buffer, { fields, bodyStart }: HeaderBlock): string {
  const hash = createHash('sha256')
  for (const { name, start, end } of fields) if (!isTrace(name)) hash.update(octets.subarray(start, end))
  return hash.update('\r\n').update(octets.subarray(bodyStart)).digest('hex')
}

function isTrace(name: string): boolean {
  return traceNames.has(name) || tracePrefixes.some(prefix => name.startsWith(prefix))
}

/**
 * Canonical header fields (RFC 6376 §3.4.1 and §3.4.2), of fields as Latin-1 text so that every octet is kept, and
 * without the last line end.
 */
export const canonicalFields = { simple: (field: string) => field, relaxed: relaxField } as const

function relaxField(field: string): string {
  const colon = field.indexOf(':')
  const name = field
    .slice(0, colon)
    .replace(/[ \t]+$/, '')
    .toLowerCase()
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
  const start = value.startsWith(' ') ? 1 : 0
  return `${name}:${value.slice(start, value.endsWith(' ') && value.length > start ? -1 : undefined)}`
}

/** A canonical DKIM-Signature as its own signature sees it: with an empty `b=` (RFC 6376 §3.7). */
export function withoutSignature(field: string): string {
  const colon = field.indexOf(':')
  const specs = field.slice(colon + 1).split(';')
  // Only tags have semicolons between them, so that no `b=` inside of a value is taken for it.
  const emptied = specs.map(spec => /^[ \t\r\n]*b[ \t\r\n]*=/.exec(spec)?.[0] ?? spec)
  return `${field.slice(0, colon + 1)}${emptied.join(';')}`
}

const lineEnd = Buffer.from('\r\n')

/** Canonical bodies (RFC 6376 §3.4.3 and §3.4.4); line ends are CRLF, and a CR alone is text. */
export const canonicalBodies = { simple: withOneLineEnd, relaxed: relaxBody } as const

function relaxBody(body: Buffer): Buffer {
  const relaxed = withOneLineEnd(hasLooseSpace(body) ? relaxLines(body) : body)
  return relaxed.length === 2 ? relaxed.subarray(2) : relaxed
}

/** Without empty lines at the end, and with the end of the last line; a copy only where that is missing. */
function withOneLineEnd(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === LF && body[end - 2] === CR) end -= 2
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, lineEnd])
}

/** Whether relaxing would change a line. Most bodies are as they should be, and searching is faster than copying. */
function hasLooseSpace(body: Buffer): boolean {
  return body.includes('\t') || body.includes('  ') || body.includes(' \r\n') || body.at(-1) === SPACE
}

/** SHA-256 of the first octets, base64, for each of some lengths: one pass over the octets for all of them. */
export function hashPrefixes(octets: Buffer, lengths: readonly number[]): ReadonlyMap<number, string> {
  const hash = createHash('sha256')
  const digests = new Map<number, string>()
  let hashed = 0
  for (const length of [...new Set(lengths)].toSorted((left, right) => left - right)) {
    hash.update(octets.subarray(hashed, length))
    hashed = length
    digests.set(length, hash.copy().digest('base64'))
  }
  return digests
}

/** The message with every bare LF made CRLF, as DKIM hashes it; the same buffer when there is none. */
export function toCrlf(octets: Buffer): Buffer {
  const bare = countBareLf(octets)
  return bare === 0 ? octets : copyWithCrlf(octets, bare)
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1)) if (octets[at - 1] !== CR) count += 1
  return count
}

interface SigningDeps extends Pick<DkimSigning, 'domain'> {
  /** Oldest first. */
  load(): Promise<readonly KeyGeneration[]>
  readonly selector: string
  readonly clock: Clock
}

export type Clock = Pick<Platform, 'now'>

/** After this, another gateway's rotation is seen here too, ms. */
const loadedMs = 60_000

/** Signs with the keys of that time; keeps them loaded until `forget`. */
export function createSigning({ load, domain, selector, clock }: SigningDeps) {
  let loaded: { readonly at: number; readonly generations: Promise<readonly KeyGeneration[]> } | undefined

  function list(): Promise<readonly KeyGeneration[]> {
    if (!loaded || loaded.at + loadedMs < clock.now()) loaded = { at: clock.now(), generations: load() }
    loaded.generations.catch(() => {
      loaded = undefined
    })
    return loaded.generations
  }

  return {
    list,
    async sign(message: Buffer, signedAt: string): Promise<Buffer> {
      const at = Date.parse(signedAt)
      const keys = chooseSigning(await list(), at).flatMap(generation => keysOf(generation, selector))
      return Buffer.concat([Buffer.from(await createDkimSignatures(message, { domain, keys, signedAt: at })), message])
    },
    forget(): void {
      loaded = undefined
    },
  }
}

/** How long old keys sign beside new ones, and how long their last signature is valid, ms. */
export const overlapMs = 7 * 24 * 3_600_000

/** By the moment of the message and not of the try, so that a second try sends the same octets. */
function chooseSigning(all: readonly KeyGeneration[], at: number): readonly KeyGeneration[] {
  const chosen = all.filter(({ madeAt }, place) => {
    const next = all[place + 1]
    return (place === 0 || madeAt <= at) && (next === undefined || at < next.madeAt + overlapMs)
  })
  return chosen.slice(-2)
}

/** A new selector with each new key: what is cached under the old one stays true. */
export function keysOf({ number, rsa, ed25519 }: KeyGeneration, selector: string): readonly DkimKey[] {
  const name = number === 1 ? selector : `${selector}-${number}`
  return [
    { selector: name, privateKey: rsa },
    { selector: `${name}-ed25519`, privateKey: ed25519 },
  ]
}

interface DkimSigning {
  readonly domain: string
  readonly keys: readonly DkimKey[]
  /** ms since the epoch. */
  readonly signedAt: number
}

const crlf = '\r\n'
const signInThreadpool = promisify(sign)
const lifetimeSeconds = 7 * 24 * 3_600

/** Everything a reader or a mail program goes by (RFC 6376 §5.4.1). */
const signedFields = [
  ...['from', 'to', 'cc', 'subject', 'date', 'reply-to', 'message-id', 'in-reply-to', 'references', 'mime-version'],
  ...['content-type', 'content-transfer-encoding', 'auto-submitted', 'list-id', 'list-post', 'list-unsubscribe'],
  // RFC 8058 §4 asks for both.
  'list-unsubscribe-post',
  // By it the next gateway knows a mail of an agent.
  'x-postern-hop',
]

/**
 * One DKIM-Signature for each key, to be put on top (RFC 6376 §5, RFC 8463). Every field is named once more than it is there (RFC 6376 §8.15), so that
 * none can be added under the signature; mailauth's signer does not do that.
 */
async function createDkimSignatures(message: Buffer, { domain, keys, signedAt }: DkimSigning): Promise<string> {
  const text = message.toString('latin1')
  const end = text.indexOf(crlf + crlf)
  const fields = text.slice(0, end).split(/\r\n(?![ \t])/)
  const { names, lines } = chooseFields(fields)
  const seconds = Math.floor(signedAt / 1000)
  const common = `d=${domain}; t=${seconds}; x=${seconds + lifetimeSeconds};${crlf}\tbh=${hash(relaxBody(message.subarray(end + 4))).toString('base64')};${crlf}\th=${foldNames(names)};${crlf}\tb=`
  const signatures = await Promise.all(
    keys.map(async ({ selector, privateKey }) => {
      const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256'
      const unsigned = `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; s=${selector};${crlf}\t${common}`
      const signature = await signData([...lines, relaxField(unsigned)].join(crlf), privateKey)
      return `${unsigned}${fold(signature)}${crlf}`
    }),
  )
  return signatures.join('')
}

/** Base64. Ed25519 signs the hash of the data (RFC 8463 §3). */
async function signData(data: string, key: KeyObject): Promise<string> {
  const octets = Buffer.from(data, 'latin1')
  const signature =
    key.asymmetricKeyType === 'ed25519'
      ? await signInThreadpool(null, hash(octets), key)
      : await signInThreadpool('sha256', octets, key)
  return signature.toString('base64')
}

function hash(octets: Buffer): Buffer {
  return createHash('sha256').update(octets).digest()
}

/**
 * The last field of a name is signed first (RFC 6376 §5.4.2). A name more often than its fields signs the absence of
 * another one.
 */
function chooseFields(fields: readonly string[]): {
  readonly names: readonly string[]
  readonly lines: readonly string[]
} {
  const relaxed = fields.map(relaxField)
  const found = signedFields.map(name => ({ name, lines: relaxed.filter(line => line.startsWith(`${name}:`)) }))
  return {
    names: found.flatMap(({ name, lines }) => Array.from({ length: lines.length + 1 }, () => name)),
    lines: found.flatMap(({ lines }) => lines.toReversed()),
  }
}

/** Lines of 72 characters or so; white space around the colons is allowed (RFC 6376 §3.5). */
function foldNames(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const line = lines.pop()
    if (line === undefined) lines.push(name)
    else if (line.length + name.length < 72) lines.push(`${line}:${name}`)
    else lines.push(line, name)
  }
  return lines.join(`:${crlf}\t `)
}

function fold(base64: string): string {
  return base64.replace(/.{1,72}/g, (piece, at: number) => (at === 0 ? piece : `${crlf}\t ${piece}`))
}

export interface DkimKey {
  readonly selector: string
  readonly privateKey: KeyObject
}

/**
 * One RSA and one Ed25519 key, made together: every server verifies the first, and the second stays strong (RFC 8301,
 * RFC 8463).
 */
export interface KeyGeneration {
  /** 1 for the first. */
  readonly number: number
  /** ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}
