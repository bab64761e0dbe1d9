// Verifies the DKIM signatures of a message.
import { createHash, verify } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { createExpiringMap } from '@postern/limits/caches'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { canonicalBodies, canonicalFields, withoutSignature } from './canonical.ts'
import { hashPrefixes } from './prefix-hashes.ts'
import type {
  Canonicalization,
  DkimFault,
  DkimKeyFault,
  DkimKeyRecord,
  DkimSignature,
  SignatureReport,
  TxtAnswer,
} from './report.ts'

interface VerifyingDeps {
  /** The DNS answers for `selector._domainkey.domain`, in lower case. A name that is absent here does not exist. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** The time of the check, ms since the epoch. */
  readonly now: number
  readonly readKey: (text: string) => DkimKeyRecord | DkimKeyFault
}

/**
 * Verifies every DKIM-Signature of a message with CRLF line ends, in order (RFC 6376 §6, RFC 8301, RFC 8463). The keys must have been fetched before.
 */
export function verifySignatures(
  { octets, header }: { readonly octets: Buffer; readonly header: HeaderBlock },
  deps: VerifyingDeps,
): SignatureReport[] {
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  const signatures = fields.map(field => ({ field, signature: parseSignature(field) }))
  const findBodyHash = hashBodies(
    octets.subarray(header.bodyStart),
    signatures.map(({ signature }) => signature),
  )
  const findFields = indexFields(header)
  return signatures.map(({ field, signature }) => {
    const signedFields = findFields(signature.fields)
    const body = findBodyHash(signature)
    const input = { body, buildSignedOctets: () => joinSigned(octets, signature, { field, signedFields }) }
    const { fault, ...key } = signature.fault ? { fault: signature.fault } : verifySignature(signature, input, deps)
    return {
      domain: signature.domain,
      selector: signature.selector,
      algorithm: signature.algorithm,
      bits: undefined,
      isTesting: false,
      ...key,
      ...(fault && { fault }),
      uncoveredOctets: body.uncoveredOctets,
      signedAt: signature.signedAt,
      covers: signedFields.map(({ name }) => name),
      id: createHash('sha256').update(signature.value).digest('hex'),
    }
  })
}

interface SignatureInput {
  readonly body: BodyHash
  /** Builds the signed octets. They are built on demand, because most faults are found without them. */
  readonly buildSignedOctets: () => Buffer
}

type Outcome = Pick<SignatureReport, 'fault' | 'dnsCode'> & Partial<Pick<SignatureReport, 'bits' | 'isTesting'>>

/** Checks the key and computes the signature (RFC 6376 §6.1.2 and §6.1.3). */
function verifySignature(signature: DkimSignature, input: SignatureInput, deps: VerifyingDeps): Outcome {
  if (signature.algorithm === 'rsa-sha1') return { fault: 'weak-algorithm' }
  if (signature.bodyHash !== input.body.hash) return { fault: 'body hash did not verify' }
  const record = findKey(signature, deps)
  if ('fault' in record) return record
  const { bits, isTesting } = record
  const fault =
    findKeyFault(signature, record) ?? findSignatureFault(signature, record, input.buildSignedOctets(), deps.now)
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

interface SignedFields {
  /** The DKIM-Signature field itself. */
  readonly field: HeaderField
  /** The covered fields, in the order of `h=`. */
  readonly signedFields: readonly HeaderField[]
}

/** Finds the fields that `h=` names. The lowest field of a name comes first, and no field is used twice (RFC 6376 §5.4.2). */
function indexFields({ fields }: HeaderBlock): (names: readonly string[]) => HeaderField[] {
  const byName = new Map<string, HeaderField[]>()
  for (const field of fields) {
    const sameNameFields = byName.get(field.name)
    if (sameNameFields) sameNameFields.push(field)
    else byName.set(field.name, [field])
  }
  return names => {
    const usedCounts = new Map<string, number>()
    return names.flatMap(name => {
      const count = (usedCounts.get(name) ?? 0) + 1
      usedCounts.set(name, count)
      return byName.get(name)?.at(-count) ?? []
    })
  }
}

/** Returns the signed octets: the covered fields, then the signature field without its value and its line end (RFC 6376 §3.7). */
function joinSigned(
  octets: Buffer,
  { fieldForm }: Pick<DkimSignature, 'fieldForm'>,
  { signedFields, field }: SignedFields,
): Buffer {
  const canonicalize = canonicalFields[fieldForm]
  const lines = signedFields.map(signedField => canonicalize(readLine(octets, signedField)))
  return Buffer.from([...lines, withoutSignature(canonicalize(readLine(octets, field)))].join('\r\n'), 'latin1')
}

function readLine(octets: Buffer, { start, end }: HeaderField): string {
  const line = octets.toString('latin1', start, end)
  return line.endsWith('\r\n') ? line.slice(0, -2) : line
}

/** Parses a signature field. A field that breaks a rule is read as far as possible. */
export function parseSignature(field: Pick<HeaderField, 'value'>): DkimSignature {
  const { tags, isValid } = parseTagList(field.value)
  const signature = readTags(tags)
  const fault = isValid ? rules.find(({ isBroken }) => isBroken(tags, signature))?.fault : 'signature syntax error'
  return fault ? { ...signature, fault } : signature
}

export type Tags = ReadonlyMap<string, string>

const algorithms = /^(?:rsa-sha1|rsa-sha256|ed25519-sha256)$/i
const canonicalizations = /^(simple|relaxed)(?:\/(simple|relaxed))?$/i

function readTags(tags: Tags): DkimSignature {
  const [d = '', s = '', a = '', i] = ['d', 's', 'a', 'i'].map(name => tags.get(name))
  const form = canonicalizations.exec(tags.get('c') ?? 'simple')
  const domain = readDomain(d)
  return {
    domain: domain ?? d.toLowerCase(),
    selector: readSelector(s) ?? s,
    algorithm: algorithms.test(a) ? a.toLowerCase() : a,
    keyType: /^ed/i.test(a) ? 'ed25519' : 'rsa',
    fieldForm: readForm(form?.[1]),
    bodyForm: readForm(form?.[2]),
    fields: splitList(tags.get('h') ?? ''),
    bodyHash: withoutSpace(tags.get('bh') ?? ''),
    bodyLength: readNumber(tags.get('l')),
    identity: (i === undefined ? domain : readIdentityDomain(i)) ?? '',
    signedAt: readNumber(tags.get('t')),
    expiresAt: readNumber(tags.get('x')),
    value: decodeBase64(tags.get('b') ?? '') ?? Buffer.alloc(0),
  }
}

/** Returns the canonicalization of one part, which is `simple` by default (RFC 6376 §3.5). */
function readForm(text = 'simple'): Canonicalization {
  return text.toLowerCase() === 'relaxed' ? 'relaxed' : 'simple'
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,76}$/.test(text) ? Number(text) : undefined
}

interface Rule {
  readonly fault: DkimFault
  readonly isBroken: (tags: Tags, signature: DkimSignature) => boolean
}

const requiredTags = ['v', 'a', 'b', 'bh', 'd', 'h', 's']
const tagMatches = (tags: Tags, name: string, pattern: RegExp) => pattern.test(tags.get(name) ?? '')
const tagMatchesIfPresent = (tags: Tags, name: string, pattern: RegExp) =>
  !tags.has(name) || tagMatches(tags, name, pattern)

/** Finds the first fault by the checks of RFC 6376 §6.1.1, in their order. */
const rules: readonly Rule[] = [
  { fault: 'unknown algorithm', isBroken: tags => tags.has('a') && !tagMatches(tags, 'a', algorithms) },
  { fault: 'unknown canonicalization', isBroken: tags => !tagMatchesIfPresent(tags, 'c', canonicalizations) },
  { fault: 'signature missing required tag', isBroken: tags => requiredTags.some(name => !tags.has(name)) },
  { fault: 'incompatible version', isBroken: tags => tags.get('v') !== '1' },
  { fault: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 't', /^[0-9]{1,12}$/) },
  { fault: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 'x', /^[0-9]{1,12}$/) },
  { fault: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 'l', /^[0-9]{1,76}$/) },
  { fault: 'signature syntax error', isBroken: (_, { fields }) => fields.length === 0 },
  { fault: 'signature syntax error', isBroken: tags => readDomain(tags.get('d') ?? '') === undefined },
  { fault: 'signature syntax error', isBroken: tags => readSelector(tags.get('s') ?? '') === undefined },
  { fault: 'signature syntax error', isBroken: (_, { value }) => value.length === 0 },
  { fault: 'unsupported query method', isBroken: tags => !splitList(tags.get('q') ?? 'dns/txt').includes('dns/txt') },
  { fault: 'signature syntax error', isBroken: (_, { identity }) => identity === '' },
  { fault: 'domain mismatch', isBroken: (_, { identity, domain }) => !`.${identity}`.endsWith(`.${domain}`) },
  {
    fault: 'invalid expiration',
    isBroken: (_, { signedAt, expiresAt }) =>
      signedAt !== undefined && expiresAt !== undefined && expiresAt <= signedAt,
  },
  { fault: 'From field not signed', isBroken: (_, { fields }) => !fields.includes('from') },
]

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^${label}(?:\\.${label})+$`)
const selectorName = new RegExp(`^${label}(?:\\.${label})*$`)

/** Reads a `domain-name` (RFC 6376 §3.5) in lower case and as A-labels. It returns undefined for any other text. */
function readDomain(text: string): string | undefined {
  const name = toAscii(text)
  return domainName.test(name) ? name : undefined
}

/** Reads a selector, which has one or more labels (RFC 6376 §3.1). */
function readSelector(text: string): string | undefined {
  const name = toAscii(text)
  return selectorName.test(name) ? name : undefined
}

/** Converts U-labels, which internationalized mail may use (RFC 8616 §5), to A-labels. */
function toAscii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text)
}

const atom = "[\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\u{10ffff}]+"
const localPart = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")?$`, 'u')

/**
 * Reads the domain of an `i=` (RFC 6376 §3.5), which may be encoded as dkim-quoted-printable (RFC 6376 §2.11). It returns undefined if the text is
 * not an identity.
 */
function readIdentityDomain(value: string): string | undefined {
  const octets = Buffer.from(value.replace(/[ \t\r\n]+/g, '')).toString('latin1')
  const decodedText = octets.replace(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = Buffer.from(decodedText, 'latin1').toString()
  const index = text.lastIndexOf('@')
  return index >= 0 && localPart.test(text.slice(0, index)) ? readDomain(text.slice(index + 1)) : undefined
}

const tagName = /^[A-Za-z][A-Za-z0-9_]*$/

/**
 * Parses the tags of a DKIM-Signature or a key record (RFC 6376 §3.2). Names are case-sensitive, values have no white space around them, and quotes
 * and parentheses have no meaning. An invalid list is read as far as possible, so that it can be shown.
 */
export function parseTagList(text: string) {
  const specs = text.split(';')
  // One semicolon is allowed at the end.
  if (specs.length > 1 && trimSpace(specs.at(-1) ?? '') === '') specs.pop()
  const tags = new Map<string, string>()
  // A list is invalid if it has a tag without `=`, a bad name, an empty tag before the end, or a repeated name.
  let isValid = true
  for (const spec of specs) {
    const equals = spec.indexOf('=')
    const name = trimSpace(spec.slice(0, Math.max(equals, 0)))
    isValid &&= tagName.test(name) && !tags.has(name)
    tags.set(name, trimSpace(spec.slice(equals + 1)))
  }
  return { tags, isValid }
}

/** Trims folding white space only, because other blanks belong to the value. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a
}

/** Returns a value without the white space by which it may be folded. */
function withoutSpace(value: string): string {
  return value.replace(/[ \t\r\n]+/g, '')
}

/** Returns the non-empty entries of a colon-separated list in lower case. */
export function splitList(value: string): readonly string[] {
  return value.split(':').flatMap(entry => trimSpace(entry).toLowerCase() || [])
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Decodes a base64 value that may be folded (`base64string`, RFC 6376 §2.10). It returns undefined for any other text. */
export function decodeBase64(value: string): Buffer | undefined {
  const text = withoutSpace(value)
  return base64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** The longest record that is cached, and the number of cached records. Longer records are parsed each time. */
const [maxCachedChars, maxCachedRecords] = [2048, 1000]

type ReadKeyRecord = (text: string) => DkimKeyRecord | DkimKeyFault

/** Returns `parse` with a cache of the newest records, because importing an RSA key takes longer than verifying with it. */
export function createKeyReader(parse: ReadKeyRecord): ReadKeyRecord {
  const cache = createExpiringMap<DkimKeyRecord | DkimKeyFault>(maxCachedRecords)
  return text => {
    const parsedRecord = cache.get(text)
    if (parsedRecord) return parsedRecord
    const record = parse(text)
    if (text.length <= maxCachedChars) cache.set(text, record)
    return record
  }
}

/** The body as far as one signature covers it. */
interface BodyHash {
  /** The SHA-256 of the covered octets, in base64. */
  readonly hash: string
  /** The number of octets of the canonical body after `l=`. */
  readonly uncoveredOctets: number
}

/** Hashes bodies for signatures. It canonicalizes and reads the body once per canonicalization, regardless of the number of body lengths. */
function hashBodies(octets: Buffer, signatures: readonly DkimSignature[]): (signature: DkimSignature) => BodyHash {
  const hashesByForm = new Map<string, { readonly size: number; readonly digests: ReadonlyMap<number, string> }>()
  for (const form of ['simple', 'relaxed'] as const) {
    const formSignatures = signatures.filter(({ fault, bodyForm }) => !fault && bodyForm === form)
    if (formSignatures.length === 0) continue
    const body = canonicalBodies[form](octets)
    const lengths = formSignatures.map(({ bodyLength }) => Math.min(bodyLength ?? body.length, body.length))
    hashesByForm.set(form, { size: body.length, digests: hashPrefixes(body, lengths) })
  }
  return ({ fault, bodyForm, bodyLength }) => {
    if (fault) return { hash: '', uncoveredOctets: 0 }
    const { size, digests } = hashesByForm.get(bodyForm) ?? { size: 0, digests: new Map<number, string>() }
    const length = Math.min(bodyLength ?? size, size)
    return { hash: digests.get(length) ?? '', uncoveredOctets: size - length }
  }
}
