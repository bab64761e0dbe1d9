// Parses DKIM-Signature fields (RFC 6376 §3.5).
import { domainToASCII } from 'node:url'
import type { HeaderField } from '../mail/header.ts'
import type { Canonicalization, DkimError, DkimSignature } from './signature-report.ts'
import type { Tags } from './tag-list.ts'
import { decodeBase64, parseTagList, removeSpace, splitList } from './tag-list.ts'

/** The parsed fields. Each field is needed twice: for the name of its key, and then for the verification. */
const parsedFields = new WeakMap<Pick<HeaderField, 'value'>, DkimSignature>()

/** Parses a signature field. A field that breaks a rule is read as far as possible. */
export function parseSignature(field: Pick<HeaderField, 'value'>): DkimSignature {
  const signature = parsedFields.get(field) ?? parseField(field)
  parsedFields.set(field, signature)
  return signature
}

function parseField(field: Pick<HeaderField, 'value'>): DkimSignature {
  const { tags, isValid } = parseTagList(field.value)
  const signature = readTags(tags)
  const error = isValid ? rules.find(({ isBroken }) => isBroken(tags, signature))?.error : 'signature syntax error'
  return error ? { ...signature, error } : signature
}

const algorithmPattern = /^(?:rsa-sha1|rsa-sha256|ed25519-sha256)$/i
const canonicalizationPattern = /^(simple|relaxed)(?:\/(simple|relaxed))?$/i

function readTags(tags: Tags): DkimSignature {
  const [d = '', s = '', a = '', i] = ['d', 's', 'a', 'i'].map(name => tags.get(name))
  const form = canonicalizationPattern.exec(tags.get('c') ?? 'simple')
  const domain = readDomain(d)
  return {
    domain: domain ?? d.toLowerCase(),
    selector: readSelector(s) ?? s,
    algorithm: algorithmPattern.test(a) ? a.toLowerCase() : a,
    keyType: /^ed/i.test(a) ? 'ed25519' : 'rsa',
    fieldForm: readForm(form?.[1]),
    bodyForm: readForm(form?.[2]),
    fields: splitList(tags.get('h') ?? ''),
    bodyHash: removeSpace(tags.get('bh') ?? ''),
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
  readonly error: DkimError
  readonly isBroken: (tags: Tags, signature: DkimSignature) => boolean
}

const requiredTags = ['v', 'a', 'b', 'bh', 'd', 'h', 's']
const tagMatches = (tags: Tags, name: string, pattern: RegExp) => pattern.test(tags.get(name) ?? '')
const tagMatchesIfPresent = (tags: Tags, name: string, pattern: RegExp) =>
  !tags.has(name) || tagMatches(tags, name, pattern)

/** The checks of RFC 6376 §6.1.1, in their order. The first broken rule gives the error. */
const rules: readonly Rule[] = [
  { error: 'unknown algorithm', isBroken: tags => tags.has('a') && !tagMatches(tags, 'a', algorithmPattern) },
  { error: 'unknown canonicalization', isBroken: tags => !tagMatchesIfPresent(tags, 'c', canonicalizationPattern) },
  { error: 'signature missing required tag', isBroken: tags => requiredTags.some(name => !tags.has(name)) },
  { error: 'incompatible version', isBroken: tags => tags.get('v') !== '1' },
  { error: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 't', /^[0-9]{1,12}$/) },
  { error: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 'x', /^[0-9]{1,12}$/) },
  { error: 'signature syntax error', isBroken: tags => !tagMatchesIfPresent(tags, 'l', /^[0-9]{1,76}$/) },
  { error: 'signature syntax error', isBroken: (_, { fields }) => fields.length === 0 },
  { error: 'signature syntax error', isBroken: tags => readDomain(tags.get('d') ?? '') === undefined },
  { error: 'signature syntax error', isBroken: tags => readSelector(tags.get('s') ?? '') === undefined },
  { error: 'signature syntax error', isBroken: (_, { value }) => value.length === 0 },
  { error: 'unsupported query method', isBroken: tags => !splitList(tags.get('q') ?? 'dns/txt').includes('dns/txt') },
  { error: 'signature syntax error', isBroken: (_, { identity }) => identity === '' },
  { error: 'domain mismatch', isBroken: (_, { identity, domain }) => !`.${identity}`.endsWith(`.${domain}`) },
  {
    error: 'invalid expiration',
    isBroken: (_, { signedAt, expiresAt }) =>
      signedAt !== undefined && expiresAt !== undefined && expiresAt <= signedAt,
  },
  { error: 'From field not signed', isBroken: (_, { fields }) => !fields.includes('from') },
]

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainPattern = new RegExp(`^${label}(?:\\.${label})+$`)
const selectorPattern = new RegExp(`^${label}(?:\\.${label})*$`)

/** Reads a `domain-name` (RFC 6376 §3.5) in lower case and as A-labels. It returns undefined for any other text. */
function readDomain(text: string): string | undefined {
  const name = toAscii(text)
  return domainPattern.test(name) ? name : undefined
}

/** Reads a selector, which has one or more labels (RFC 6376 §3.1). */
function readSelector(text: string): string | undefined {
  const name = toAscii(text)
  return selectorPattern.test(name) ? name : undefined
}

/** Converts U-labels, which internationalized mail may use (RFC 8616 §5), to A-labels. */
function toAscii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text)
}

const atom = "[\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\u{10ffff}]+"
const localPartPattern = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")?$`, 'u')

/**
 * Reads the domain of an `i=` (RFC 6376 §3.5), which may be encoded as dkim-quoted-printable (RFC 6376 §2.11). It returns undefined if the text is
 * not an identity.
 */
function readIdentityDomain(value: string): string | undefined {
  const octets = Buffer.from(value.replace(/[ \t\r\n]+/g, '')).toString('latin1')
  const decodedText = octets.replace(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = Buffer.from(decodedText, 'latin1').toString()
  const index = text.lastIndexOf('@')
  return index >= 0 && localPartPattern.test(text.slice(0, index)) ? readDomain(text.slice(index + 1)) : undefined
}
