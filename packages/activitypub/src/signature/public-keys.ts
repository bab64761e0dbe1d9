// Parses and formats public keys as PEM and as Multikey (FEP-521a).
import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { decodeBase58, encodeBase58 } from '@postern/message'

const pemPattern = /^\s*-----BEGIN (RSA )?PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END (RSA )?PUBLIC KEY-----\s*$/
const maxPemChars = 4_096
const minKeyBits = 2_048
/** The longest RSA key in bits, which limits the time of one verification. */
const maxKeyBits = 4_096
const maxExponent = 0xffff_ffffn

/**
 * Parses an RSA key of 2048–4096 bits from SPKI or PKCS#1 PEM for verification. Returns undefined for anything else. The PEM label is checked
 * first, because `createPublicKey` also accepts private keys and certificates.
 */
export function parsePublicKeyPem(pem: string): KeyObject | undefined {
  if (pem.length > maxPemChars || !pemPattern.test(pem)) return undefined
  try {
    const key = createPublicKey(pem)
    return isAcceptableKey(key) ? key : undefined
  } catch {
    return undefined
  }
}

function isAcceptableKey(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return (
    key.asymmetricKeyType === 'rsa' &&
    modulusLength >= minKeyBits &&
    modulusLength <= maxKeyBits &&
    publicExponent >= 3n &&
    publicExponent <= maxExponent
  )
}

/** The multicodec prefix of an Ed25519 public key: 0xed as a varint. */
const ed25519Prefix = Buffer.from([0xed, 0x01])
const ed25519Bytes = 32
/** The multicodec prefix of an RSA public key: 0x1205 as a varint. PKCS#1 DER follows. */
const rsaPrefix = Buffer.from([0x85, 0x24])

/** Formats the public half of an Ed25519 key as `publicKeyMultibase` (FEP-521a). */
export function formatMultikey(key: KeyObject): string {
  const { x = '' } = createPublicKey(key.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' })
  return `z${encodeBase58(Buffer.concat([ed25519Prefix, Buffer.from(x, 'base64url')]))}`
}

/** Formats an RSA key as `publicKeyMultibase` (FEP-521a). */
export function formatRsaMultikey(key: KeyObject): string {
  return `z${encodeBase58(Buffer.concat([rsaPrefix, key.export({ type: 'pkcs1', format: 'der' })]))}`
}

/** Parses an Ed25519 key from `publicKeyMultibase` for verification. Returns undefined for anything else. */
export function parseMultikey(text: string): KeyObject | undefined {
  const bytes = text.startsWith('z') ? decodeBase58(text.slice(1)) : undefined
  if (bytes?.length !== ed25519Prefix.length + ed25519Bytes) return undefined
  if (!ed25519Prefix.equals(bytes.subarray(0, ed25519Prefix.length))) return undefined
  const x = Buffer.from(bytes.subarray(ed25519Prefix.length)).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}
