// Parses the DNS records of DKIM keys (RFC 6376 §3.6.1).
import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import type { DkimKeyFault, DkimKeyRecord } from './report.ts'
import type { Tags } from './verify.ts'
import { decodeBase64, parseTagList, splitList } from './verify.ts'

/** The minimum number of bits of an RSA key. Verifiers must not accept shorter keys (RFC 8301 §3.2). */
const minBits = 1024

const [maxQuickBits, maxQuickExponent] = [4096, 0xffff_ffffn]

/** Reads a key record, in the order of RFC 6376 §6.1.2. */
export function parseKeyRecord(text: string): DkimKeyRecord | DkimKeyFault {
  // People paste records with all kinds of blanks, and no value that is read here contains any.
  const { tags, isValid } = parseTagList(text.replace(/\s+/g, ''))
  const octets = decodeBase64(tags.get('p') ?? '')
  // An empty `p=` marks a revoked key.
  if (!isValid || !octets) return { fault: 'invalid public key' }
  if (tags.has('v') && ([...tags.keys()][0] !== 'v' || tags.get('v') !== 'DKIM1')) {
    return { fault: 'unknown key version' }
  }
  if (!allows(tags, 's', ['email', '*'])) return { fault: 'key not for email' }
  if (!allows(tags, 'h', ['sha256'])) return { fault: 'inappropriate hash algorithm' }
  return readKey(tags, octets)
}

/** Returns true if a list of the record contains one of the values, or if there is no list, because then all are allowed. */
function allows(tags: Tags, name: string, acceptedValues: readonly string[]): boolean {
  const list = tags.get(name)
  return list === undefined || splitList(list).some(entry => acceptedValues.includes(entry))
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

/** The DER of an Ed25519 key before its 32 octets (RFC 8410 §4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

function importKey(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: isBareRsaKey(der) ? 'pkcs1' : 'spki' })
  } catch {
    return undefined
  }
}

/** Reads an RSA key. An `RSAPublicKey` (RFC 8017 §A.1.1) begins with a number, and the more common `SubjectPublicKeyInfo` with a sequence. */
function isBareRsaKey(der: Buffer): boolean {
  const length = der[1] ?? 0
  return der[length < 0x80 ? 2 : 2 + (length & 0x7f)] === 0x02
}
