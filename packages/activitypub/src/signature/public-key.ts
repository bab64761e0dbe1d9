import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'

const pemPattern = /^\s*-----BEGIN (RSA )?PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END (RSA )?PUBLIC KEY-----\s*$/
const maxPemLength = 4_096
const leastBits = 2_048
/** Keeps the time of one verification bounded. */
const mostBits = 4_096
const mostExponent = 0xffff_ffffn

/**
 * An RSA key of 2048–4096 bits from SPKI or PKCS#1 PEM, ready to verify with; undefined for anything else. The armour
 * is checked first because `createPublicKey` also accepts private keys and certificates.
 */
export function parsePublicKeyPem(pem: string): KeyObject | undefined {
  if (pem.length > maxPemLength || !pemPattern.test(pem)) return undefined
  try {
    const key = createPublicKey(pem)
    return isAcceptable(key) ? key : undefined
  } catch {
    return undefined
  }
}

function isAcceptable(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return (
    key.asymmetricKeyType === 'rsa' &&
    modulusLength >= leastBits &&
    modulusLength <= mostBits &&
    publicExponent >= 3n &&
    publicExponent <= mostExponent
  )
}
