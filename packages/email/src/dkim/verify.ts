import { createHash, verify } from 'node:crypto'
import type { HeaderBlock, HeaderField } from '../mail/scan.ts'
import type { DkimFault, DkimKeyFault, DkimKeyRecord, DkimSignature } from './signature.ts'
import { parseSignature } from './signature.ts'

interface VerifyingDeps {
  /** Answers for `selector._domainkey.domain`, lower case. A name that is absent does not exist. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** ms since the epoch */
  readonly now: number
  readonly readKey: (text: string) => DkimKeyRecord | DkimKeyFault
}

/**
 * Verifies each DKIM-Signature of a message with CRLF line ends, in order (RFC 6376 §6, RFC 8301, RFC 8463); the keys are
 * there before.
 */
export function verifySignatures(
  { octets, header }: { readonly octets: Buffer; readonly header: HeaderBlock },
  deps: VerifyingDeps,
): SignatureReport[] {
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  const signatures = fields.map(field => ({ field, signature: parseSignature(field) }))
  const findBody = hashBodies(
    octets.subarray(header.bodyStart),
    signatures.map(({ signature }) => signature),
  )
  const findFields = indexFields(header)
  return signatures.map(({ field, signature }) => {
    const signed = findFields(signature.fields)
    const body = findBody(signature)
    const found = { body, join: () => joinSigned(octets, signature, { field, signed }) }
    const { fault, ...key } = signature.fault ? { fault: signature.fault } : verifySignature(signature, found, deps)
    return {
      domain: signature.domain,
      selector: signature.selector,
      algorithm: signature.algorithm,
      bits: undefined,
      isTesting: false,
      ...key,
      ...(fault && { fault }),
      uncovered: body.uncovered,
      signedAt: signature.signedAt,
      covers: signed.map(({ name }) => name),
      id: createHash('sha256').update(signature.value).digest('hex'),
    }
  })
}

interface FoundSignature {
  readonly body: BodyHash
  /** Makes the octets that it signs; most faults are found without them. */
  readonly join: () => Buffer
}

type Outcome = Pick<SignatureReport, 'fault' | 'dnsCode'> & Partial<Pick<SignatureReport, 'bits' | 'isTesting'>>

/** RFC 6376 §6.1.2 and §6.1.3. */
function verifySignature(signature: DkimSignature, found: FoundSignature, deps: VerifyingDeps): Outcome {
  if (signature.algorithm === 'rsa-sha1') return { fault: 'weak-algorithm' }
  if (signature.bodyHash !== found.body.hash) return { fault: 'body hash did not verify' }
  const record = findKey(signature, deps)
  if ('fault' in record) return record
  const { bits, isTesting } = record
  const fault = findKeyFault(signature, record) ?? findSignatureFault(signature, record, found.join(), deps.now)
  return { bits, isTesting, fault }
}

function findKey(
  { domain, selector }: DkimSignature,
  { keys, readKey }: VerifyingDeps,
): DkimKeyRecord | (DkimKeyFault & { readonly dnsCode?: string }) {
  const answer = keys[`${selector}._domainkey.${domain}`] ?? { code: 'ENOTFOUND' }
  if ('records' in answer) return readKey((answer.records[0] ?? []).join(''))
  if (answer.code === 'ENOTFOUND' || answer.code === 'ENODATA') return { fault: 'no key' }
  return { fault: 'DNS failure', dnsCode: answer.code }
}

function findKeyFault(signature: DkimSignature, record: DkimKeyRecord): DkimFault | undefined {
  if (record.keyType !== signature.keyType) return 'inappropriate key algorithm'
  return record.isExact && signature.identity !== signature.domain ? 'domain mismatch' : undefined
}

function findSignatureFault(
  signature: DkimSignature,
  record: DkimKeyRecord,
  data: Buffer,
  now: number,
): DkimFault | undefined {
  // Ed25519 signs the hash of the data (RFC 8463 §3).
  const isGood =
    record.keyType === 'ed25519'
      ? verify(null, createHash('sha256').update(data).digest(), record.key, signature.value)
      : verify('sha256', data, record.key, signature.value)
  if (!isGood) return 'bad signature'
  return signature.expiresAt !== undefined && signature.expiresAt * 1000 < now ? 'expired' : undefined
}

/** The DNS answer for one name: the TXT records, or the code of the error. */
export type TxtAnswer = { readonly records: readonly (readonly string[])[] } | { readonly code: string }

/** One DKIM signature as the computation came out, before policy judges it. */
export interface SignatureReport {
  /** Lower case, A-labels. */
  readonly domain: string
  readonly selector: string
  /** `rsa-sha256`, `ed25519-sha256`; as written when it is unknown. */
  readonly algorithm: string
  /** RSA modulus length. */
  readonly bits?: number | undefined
  /** Absent when the signature is good. */
  readonly fault?: DkimFault | undefined
  /** The code of the DNS error. */
  readonly dnsCode?: string | undefined
  /** Octets of the canonical body that are not covered (`l=`). */
  readonly uncovered: number
  /** The key is declared as a test (`t=y`). */
  readonly isTesting: boolean
  /** Seconds since the epoch. */
  readonly signedAt?: number | undefined
  /** Lower-case names of the fields that it covers, one name for each field. */
  readonly covers: readonly string[]
  /** SHA-256 of the signature value, lower-case hex. */
  readonly id: string
}

interface SignedFields {
  /** The DKIM-Signature itself. */
  readonly field: HeaderField
  /** The fields that it covers, in the order of `h=`. */
  readonly signed: readonly HeaderField[]
}

/** Finds the fields of an `h=`: of each name the lowest first, and none twice (RFC 6376 §5.4.2). */
function indexFields({ fields }: HeaderBlock): (names: readonly string[]) => HeaderField[] {
  const byName = new Map<string, HeaderField[]>()
  for (const field of fields) {
    const known = byName.get(field.name)
    if (known) known.push(field)
    else byName.set(field.name, [field])
  }
  return names => {
    const taken = new Map<string, number>()
    return names.flatMap(name => {
      const count = (taken.get(name) ?? 0) + 1
      taken.set(name, count)
      return byName.get(name)?.at(-count) ?? []
    })
  }
}

/** The octets that are signed: the fields, and the signature without its value and its line end (RFC 6376 §3.7). */
function joinSigned(
  octets: Buffer,
  { fieldForm }: Pick<DkimSignature, 'fieldForm'>,
  { signed, field }: SignedFields,
): Buffer {
  const canonicalize = canonicalFields[fieldForm]
  const lines = signed.map(each => canonicalize(readLine(octets, each)))
  return Buffer.from([...lines, withoutSignature(canonicalize(readLine(octets, field)))].join('\r\n'), 'latin1')
}

function readLine(octets: Buffer, { start, end }: HeaderField): string {
  const line = octets.toString('latin1', start, end)
  return line.endsWith('\r\n') ? line.slice(0, -2) : line
}

/**
 * Canonical header fields (RFC 6376 §3.4.1 and §3.4.2), of fields as Latin-1 text so that every octet is kept, and
 * without the last line end.
 */
export const canonicalFields = { simple: (field: string) => field, relaxed: relaxField } as const

export function relaxField(field: string): string {
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

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09]
const crlf = Buffer.from('\r\n')

/** Canonical bodies (RFC 6376 §3.4.3 and §3.4.4); line ends are CRLF, and a CR alone is text. */
export const canonicalBodies = { simple: withOneLineEnd, relaxed: relaxBody } as const

export function relaxBody(body: Buffer): Buffer {
  const relaxed = withOneLineEnd(hasLooseSpace(body) ? relaxLines(body) : body)
  return relaxed.length === 2 ? relaxed.subarray(2) : relaxed
}

/** Without empty lines at the end, and with the end of the last line; a copy only where that is missing. */
function withOneLineEnd(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === LF && body[end - 2] === CR) end -= 2
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, crlf])
}

/** Whether relaxing would change a line. Most bodies are as they should be, and searching is faster than copying. */
function hasLooseSpace(body: Buffer): boolean {
  return body.includes('\t') || body.includes('  ') || body.includes(' \r\n') || body.at(-1) === SPACE
}

/** White space of any length becomes one space, and none before the end of a line. */
function relaxLines(body: Buffer): Buffer {
  const relaxed = Buffer.allocUnsafe(body.length)
  let written = 0
  let isSpaced = false
  for (let at = 0; at < body.length; at += 1) {
    const octet = body[at] ?? 0
    if (octet === SPACE || octet === TAB) {
      isSpaced = true
      continue
    }
    if (isSpaced && !(octet === CR && body[at + 1] === LF)) {
      relaxed[written] = SPACE
      written += 1
    }
    isSpaced = false
    relaxed[written] = octet
    written += 1
  }
  return relaxed.subarray(0, written)
}

/** The body as one signature covers it. */
interface BodyHash {
  /** SHA-256, base64. */
  readonly hash: string
  /** Octets of the canonical body behind `l=`. */
  readonly uncovered: number
}

/** One canonical body and one pass over it for each canonicalization, however many lengths are asked for. */
function hashBodies(octets: Buffer, signatures: readonly DkimSignature[]): (signature: DkimSignature) => BodyHash {
  const hashed = new Map<string, { readonly size: number; readonly digests: ReadonlyMap<number, string> }>()
  for (const form of ['simple', 'relaxed'] as const) {
    const asked = signatures.filter(({ fault, bodyForm }) => !fault && bodyForm === form)
    if (asked.length === 0) continue
    const body = canonicalBodies[form](octets)
    const lengths = asked.map(({ bodyLength }) => Math.min(bodyLength ?? body.length, body.length))
    hashed.set(form, { size: body.length, digests: hashPrefixes(body, lengths) })
  }
  return ({ fault, bodyForm, bodyLength }) => {
    if (fault) return { hash: '', uncovered: 0 }
    const { size, digests } = hashed.get(bodyForm) ?? { size: 0, digests: new Map<number, string>() }
    const length = Math.min(bodyLength ?? size, size)
    return { hash: digests.get(length) ?? '', uncovered: size - length }
  }
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
  if (bare === 0) return octets
  const whole = Buffer.allocUnsafe(octets.length + bare)
  let written = 0
  for (let at = 0; at < octets.length; at += 1) {
    const octet = octets[at] ?? 0
    if (octet === LF && octets[at - 1] !== CR) {
      whole[written] = CR
      written += 1
    }
    whole[written] = octet
    written += 1
  }
  return whole
}

function countBareLf(octets: Buffer): number {
  let count = 0
  for (let at = octets.indexOf(LF); at >= 0; at = octets.indexOf(LF, at + 1)) if (octets[at - 1] !== CR) count += 1
  return count
}
