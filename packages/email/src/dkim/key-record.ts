// Parses the DNS records of DKIM keys (RFC 6376 §3.6.1).
import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import type { DkimKeyError, DkimKeyRecord } from './signature-report.ts'
import type { Tags } from './tag-list.ts'
import { decodeBase64, parseTagList, splitList } from './tag-list.ts'

/** The minimum number of bits of an RSA key. Verifiers must not accept shorter keys (RFC 8301 §3.2). */
const minBits = 1024

/** The longest modulus and the largest exponent of a key with which a verification is fast. */
const [maxFastBits, maxFastExponent] = [4096, 0xffff_ffffn]

/** Reads a key record, in the order of RFC 6376 §6.1.2. */
export function parseKeyRecord(text: string): DkimKeyRecord | DkimKeyError {
  // People paste records with all kinds of blanks. No value that is read here contains a blank.
  const { tags, isValid } = parseTagList(text.replace(/\s+/g, ''))
  const keyBytes = decodeBase64(tags.get('p') ?? '')
  // An empty `p=` marks a revoked key.
  if (!isValid || !keyBytes) return { error: 'invalid public key' }
  if (tags.has('v') && ([...tags.keys()][0] !== 'v' || tags.get('v') !== 'DKIM1')) {
    return { error: 'unknown key version' }
  }
  if (!listAllowsAny(tags, 's', ['email', '*'])) return { error: 'key not for email' }
  if (!listAllowsAny(tags, 'h', ['sha256'])) return { error: 'inappropriate hash algorithm' }
  return readKey(tags, keyBytes)
}

/** Returns true if a list of the record contains one of the values. Without the list, all values are allowed. */
function listAllowsAny(tags: Tags, name: string, values: readonly string[]): boolean {
  const list = tags.get(name)
  return list === undefined || splitList(list).some(entry => values.includes(entry))
}

function readKey(tags: Tags, keyBytes: Buffer): DkimKeyRecord | DkimKeyError {
  const keyType = (tags.get('k') ?? 'rsa').toLowerCase()
  if (keyType !== 'rsa' && keyType !== 'ed25519') return { error: 'unknown key type' }
  if (keyType === 'ed25519' && keyBytes.length !== 32) return { error: 'invalid public key' }
  const key = importKey(keyType === 'ed25519' ? Buffer.concat([ed25519Prefix, keyBytes]) : keyBytes)
  if (key?.asymmetricKeyType !== keyType) return { error: 'unknown key type' }
  const { modulusLength: bits, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits !== undefined && bits < minBits) return { error: 'weak-key' }
  const flags = splitList(tags.get('t') ?? '')
  const isSlowToVerify = (bits ?? 0) > maxFastBits || exponent > maxFastExponent
  return {
    key,
    keyType,
    bits,
    isTesting: flags.includes('y'),
    forbidsSubdomains: flags.includes('s'),
    isSlowToVerify,
  }
}

/** The DER of an Ed25519 key before its 32 octets (RFC 8410 §4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

function importKey(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: isRsaPublicKey(der) ? 'pkcs1' : 'spki' })
  } catch {
    return undefined
  }
}

/**
 * Returns true for an `RSAPublicKey` (RFC 8017 §A.1.1), which begins with a number. The more common
 * `SubjectPublicKeyInfo` begins with a sequence.
 */
function isRsaPublicKey(der: Buffer): boolean {
  const length = der[1] ?? 0
  return der[length < 0x80 ? 2 : 2 + (length & 0x7f)] === 0x02
}
