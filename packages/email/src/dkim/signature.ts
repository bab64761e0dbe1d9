import type { HeaderField } from '../mail/header-scan.ts'
import { readDomain, readIdentityDomain, readSelector } from './domain-name.ts'
import type { DkimFault } from './faults.ts'
import { decodeBase64, parseTagList, splitList, withoutSpace } from './tag-list.ts'

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
const empty = Buffer.alloc(0)

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
    value: decodeBase64(tags.get('b') ?? '') ?? empty,
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
