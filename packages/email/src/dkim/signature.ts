import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { createExpiringMap } from '@postern/limits/caches'
import type { HeaderField } from '../mail/scan.ts'

/** A DKIM-Signature field (RFC 6376 §3.5). With a `fault` it cannot verify, whatever the message and the key are. */
export interface DkimSignature {
  readonly fault?: DkimFault | undefined
  /** Lower case and A-labels where it is a name, else as written. */
  readonly domain: string
  readonly selector: string
  /** `rsa-sha256`, `ed25519-sha256`; as written where it is unknown. */
  readonly algorithm: string
  readonly keyType: 'rsa' | 'ed25519'
  readonly fieldForm: Canonicalization
  readonly bodyForm: Canonicalization
  /** Lower-case names of `h=`, in order. */
  readonly fields: readonly string[]
  readonly bodyHash: string
  /** Octets of the canonical body that count (`l=`). */
  readonly bodyLength?: number | undefined
  /** The domain of `i=`. */
  readonly identity: string
  /** Seconds since the epoch. */
  readonly signedAt?: number | undefined
  readonly expiresAt?: number | undefined
  /** `b=` */
  readonly value: Buffer
}

type Canonicalization = 'simple' | 'relaxed'

/** Reads a signature field; a field that breaks a rule is read as far as it goes. */
export function parseSignature(field: Pick<HeaderField, 'value'>): DkimSignature {
  const { tags, isValid } = parseTagList(field.value)
  const read = readTags(tags)
  const fault = isValid ? findFault(tags, read) : 'signature syntax error'
  return fault ? { ...read, fault } : read
}

type Tags = ReadonlyMap<string, string>

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

/** `simple` where nothing is said (RFC 6376 §3.5). */
function readForm(text = 'simple'): Canonicalization {
  return text.toLowerCase() === 'relaxed' ? 'relaxed' : 'simple'
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,76}$/.test(text) ? Number(text) : undefined
}

interface Rule {
  readonly fault: DkimFault
  readonly isBroken: (tags: Tags, read: DkimSignature) => boolean
}

const required = ['v', 'a', 'b', 'bh', 'd', 'h', 's']
const has = (tags: Tags, name: string, pattern: RegExp) => pattern.test(tags.get(name) ?? '')
const keeps = (tags: Tags, name: string, pattern: RegExp) => !tags.has(name) || has(tags, name, pattern)

/** The checks of RFC 6376 §6.1.1, in order: the first that fails is the fault. */
const rules: readonly Rule[] = [
  { fault: 'unknown algorithm', isBroken: tags => tags.has('a') && !has(tags, 'a', algorithms) },
  { fault: 'unknown canonicalization', isBroken: tags => !keeps(tags, 'c', canonicalizations) },
  { fault: 'signature missing required tag', isBroken: tags => required.some(name => !tags.has(name)) },
  { fault: 'incompatible version', isBroken: tags => tags.get('v') !== '1' },
  { fault: 'signature syntax error', isBroken: tags => !keeps(tags, 't', /^[0-9]{1,12}$/) },
  { fault: 'signature syntax error', isBroken: tags => !keeps(tags, 'x', /^[0-9]{1,12}$/) },
  { fault: 'signature syntax error', isBroken: tags => !keeps(tags, 'l', /^[0-9]{1,76}$/) },
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

function findFault(tags: Tags, read: DkimSignature): DkimFault | undefined {
  return rules.find(({ isBroken }) => isBroken(tags, read))?.fault
}

/** Why a signature does not verify. The words are shown to operators, beside our own verdict. */
export type DkimFault =
  // Of the field, found before the key is asked for (RFC 6376 §6.1.1).
  | 'signature syntax error'
  | 'signature missing required tag'
  | 'incompatible version'
  | 'unknown algorithm'
  | 'unknown canonicalization'
  | 'unsupported query method'
  | 'domain mismatch'
  | 'invalid expiration'
  | 'From field not signed'
  // Of what RFC 8301 §3 forbids.
  | 'weak-algorithm'
  | 'weak-key'
  // Of the key record (RFC 6376 §6.1.2).
  | 'no key'
  | 'invalid public key'
  | 'unknown key version'
  | 'unknown key type'
  | 'key not for email'
  | 'inappropriate hash algorithm'
  | 'inappropriate key algorithm'
  | 'DNS failure'
  // Of the computation (RFC 6376 §6.1.3).
  | 'body hash did not verify'
  | 'bad signature'
  | 'expired'

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^${label}(?:\\.${label})+$`)
const selectorName = new RegExp(`^${label}(?:\\.${label})*$`)

/** A `domain-name` (RFC 6376 §3.5) in lower case, as A-labels; undefined when it is none. */
function readDomain(text: string): string | undefined {
  const name = toAscii(text)
  return domainName.test(name) ? name : undefined
}

/** A selector: one label or more (RFC 6376 §3.1). */
function readSelector(text: string): string | undefined {
  const name = toAscii(text)
  return selectorName.test(name) ? name : undefined
}

/** Mail beyond ASCII may have U-labels (RFC 8616 §5). */
function toAscii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text)
}

const atom = "[\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\u{10ffff}]+"
const localPart = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")?$`, 'u')

/**
 * The domain of an `i=` (RFC 6376 §3.5), which may be dkim-quoted-printable (RFC 6376 §2.11); undefined when it is no identity.
 */
function readIdentityDomain(value: string): string | undefined {
  const octets = Buffer.from(value.replace(/[ \t\r\n]+/g, '')).toString('latin1')
  const decoded = octets.replace(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = Buffer.from(decoded, 'latin1').toString()
  const at = text.lastIndexOf('@')
  return at >= 0 && localPart.test(text.slice(0, at)) ? readDomain(text.slice(at + 1)) : undefined
}

/** The tags of a DKIM-Signature or of a key record. */
interface TagList {
  /** Values by name; names are case-sensitive. */
  readonly tags: Tags
  /** False for a tag without `=`, a bad name, an empty tag before the end, or a name that comes twice. */
  readonly isValid: boolean
}

const tagName = /^[A-Za-z][A-Za-z0-9_]*$/

/**
 * Reads a tag-list (RFC 6376 §3.2). Values have no white space around them; quotes and parentheses mean nothing. One
 * that is not valid is read as far as it goes, to be shown.
 */
function parseTagList(text: string): TagList {
  const specs = text.split(';')
  // One semicolon may stand at the end.
  if (specs.length > 1 && trimSpace(specs.at(-1) ?? '') === '') specs.pop()
  const tags = new Map<string, string>()
  let isValid = true
  for (const spec of specs) {
    const equals = spec.indexOf('=')
    const name = trimSpace(spec.slice(0, Math.max(equals, 0)))
    isValid &&= tagName.test(name) && !tags.has(name)
    tags.set(name, trimSpace(spec.slice(equals + 1)))
  }
  return { tags, isValid }
}

/** Folding white space only: other blanks belong to the value. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a
}

/** A value without the white space that it may be folded with. */
function withoutSpace(value: string): string {
  return value.replace(/[ \t\r\n]+/g, '')
}

/** The entries of a list with colons, lower case; empty ones do not count. */
function splitList(value: string): readonly string[] {
  return value.split(':').flatMap(entry => trimSpace(entry).toLowerCase() || [])
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The octets of a base64 value that may be folded (`base64string`, RFC 6376 §2.10); undefined when it is none. */
function decodeBase64(value: string): Buffer | undefined {
  const text = withoutSpace(value)
  return base64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/** A key as its TXT record has it (RFC 6376 §3.6.1, RFC 8463 §4). */
export interface DkimKeyRecord {
  readonly key: KeyObject
  readonly keyType: 'rsa' | 'ed25519'
  /** RSA modulus length. */
  readonly bits?: number | undefined
  /** `t=y` */
  readonly isTesting: boolean
  /** `t=s`: the domain of `i=` must be that of `d=`. */
  readonly isExact: boolean
  /** Verifying with it takes a millisecond or more: an RSA key with an odd exponent or a very long modulus. */
  readonly isCostly: boolean
}

/** A record that verifies nothing, and why. */
export interface DkimKeyFault {
  readonly fault: DkimFault
}

/** RFC 8301 §3.2: verifiers must not take shorter keys. */
const minBits = 1024
const [maxQuickBits, maxQuickExponent] = [4096, 0xffff_ffffn]

/** Reads a key record, in the order of RFC 6376 §6.1.2. */
export function parseKeyRecord(text: string): DkimKeyRecord | DkimKeyFault {
  // People paste records with blanks of all kinds, and no value of one that counts here has any.
  const { tags, isValid } = parseTagList(text.replace(/\s+/g, ''))
  const octets = decodeBase64(tags.get('p') ?? '')
  // An empty `p=` is a key that was revoked.
  if (!isValid || !octets) return { fault: 'invalid public key' }
  if (tags.has('v') && ([...tags.keys()][0] !== 'v' || tags.get('v') !== 'DKIM1')) {
    return { fault: 'unknown key version' }
  }
  if (!allows(tags, 's', ['email', '*'])) return { fault: 'key not for email' }
  if (!allows(tags, 'h', ['sha256'])) return { fault: 'inappropriate hash algorithm' }
  return readKey(tags, octets)
}

/** Whether a list of the record has one of these; everything is allowed where there is no list. */
function allows(tags: Tags, name: string, wanted: readonly string[]): boolean {
  const list = tags.get(name)
  return list === undefined || splitList(list).some(entry => wanted.includes(entry))
}

function readKey(tags: Tags, octets: Buffer): DkimKeyRecord | DkimKeyFault {
  const keyType = (tags.get('k') ?? 'rsa').toLowerCase()
  if (keyType !== 'rsa' && keyType !== 'ed25519') return { fault: 'unknown key type' }
  if (keyType === 'ed25519' && octets.length !== 32) return { fault: 'invalid public key' }
  const key = importKey(keyType === 'ed25519' ? Buffer.concat([ed25519Prefix, octets]) : octets)
  if (key?.asymmetricKeyType !== keyType) return { fault: 'unknown key type' }
  const { modulusLength: bits, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits !== undefined && bits < minBits) return { fault: 'weak-key' }
  const flags = splitList(tags.get('t') ?? '')
  const isCostly = (bits ?? 0) > maxQuickBits || exponent > maxQuickExponent
  return { key, keyType, bits, isTesting: flags.includes('y'), isExact: flags.includes('s'), isCostly }
}

/** The DER of RFC 8410 §4 before the 32 octets of a key. */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

function importKey(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: isBareRsaKey(der) ? 'pkcs1' : 'spki' })
  } catch {
    return undefined
  }
}

/** An `RSAPublicKey` (RFC 8017 §A.1.1) begins with a number; the `SubjectPublicKeyInfo` most publish, with a sequence. */
function isBareRsaKey(der: Buffer): boolean {
  const length = der[1] ?? 0
  return der[length < 0x80 ? 2 : 2 + (length & 0x7f)] === 0x02
}

/** Longer records are read anew each time; so many others are kept. */
const [maxKeptChars, maxKept] = [2048, 1000]

/** `parseKeyRecord` that remembers the newest records: to import an RSA key takes longer than to verify with it. */
export function createKeyReader(): typeof parseKeyRecord {
  const kept = createExpiringMap<DkimKeyRecord | DkimKeyFault>(maxKept)
  return text => {
    const known = kept.get(text)
    if (known) return known
    const record = parseKeyRecord(text)
    if (text.length <= maxKeptChars) kept.set(text, record)
    return record
  }
}
