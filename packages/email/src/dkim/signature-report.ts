// Defines the types of DKIM verification: signatures, key records, errors and reports.
import type { KeyObject } from 'node:crypto'

/** The reason why a signature does not verify. Operators see it next to the gateway's own verdict. */
export type DkimError =
  // These errors are found in the field, before its key is requested (RFC 6376 §6.1.1).
  | 'signature syntax error'
  | 'signature missing required tag'
  | 'incompatible version'
  | 'unknown algorithm'
  | 'unknown canonicalization'
  | 'unsupported query method'
  | 'domain mismatch'
  | 'invalid expiration'
  | 'From field not signed'
  // RFC 8301 §3 forbids these algorithms and keys.
  | 'weak-algorithm'
  | 'weak-key'
  // These are errors of the key record (RFC 6376 §6.1.2).
  | 'no key'
  | 'invalid public key'
  | 'unknown key version'
  | 'unknown key type'
  | 'key not for email'
  | 'inappropriate hash algorithm'
  | 'inappropriate key algorithm'
  | 'DNS failure'
  // The computation finds these errors (RFC 6376 §6.1.3).
  | 'body hash did not verify'
  | 'bad signature'
  | 'expired'

/** A key in the form of its TXT record (RFC 6376 §3.6.1, RFC 8463 §4). */
export interface DkimKeyRecord {
  readonly key: KeyObject
  readonly keyType: 'rsa' | 'ed25519'
  /** The number of bits of the RSA modulus. */
  readonly bits?: number | undefined
  /** True if the record has `t=y`, which declares a test. */
  readonly isTesting: boolean
  /** True if the record has `t=s`, which forbids a subdomain of `d=` in `i=`. */
  readonly forbidsSubdomains: boolean
  /** True for an RSA key with an unusual exponent or a very long modulus, with which a verification takes a millisecond or more. */
  readonly isSlowToVerify: boolean
}

/** A record that cannot verify anything, and the reason. */
export interface DkimKeyError {
  readonly error: DkimError
}

/** The DNS answer for one name: its TXT records, or the error code. */
export type TxtAnswer = { readonly records: readonly (readonly string[])[] } | { readonly code: string }

/** The result of verifying one DKIM signature, before the gateway's own rules judge it. */
export interface SignatureReport {
  /** The signing domain in lower case, as A-labels. */
  readonly domain: string
  readonly selector: string
  /** `rsa-sha256`, `ed25519-sha256`, or an unknown algorithm as it is written. */
  readonly algorithm: string
  /** The number of bits of the RSA modulus. */
  readonly bits?: number | undefined
  /** The reason why the signature does not verify. It is absent for a valid signature. */
  readonly error?: DkimError | undefined
  /** The code of the DNS error, if DNS failed. */
  readonly dnsCode?: string | undefined
  /** The number of octets of the canonical body that the signature does not cover (`l=`). */
  readonly uncoveredOctets: number
  /** True if the key is declared as a test (`t=y`). */
  readonly isTesting: boolean
  /** The time of the signature (`t=`), in seconds since the epoch. */
  readonly signedAt?: number | undefined
  /** The lower-case names of the covered fields. A name occurs once for each covered field. */
  readonly covers: readonly string[]
  /** The SHA-256 of the signature value, in lower-case hex. */
  readonly id: string
}

/** A DKIM-Signature field (RFC 6376 §3.5). If it has a `error`, it cannot verify with any message or key. */
export interface DkimSignature {
  readonly error?: DkimError | undefined
  /** The domain in lower case and as A-labels if it is a valid name, or else in the spelling of the field. */
  readonly domain: string
  readonly selector: string
  /** `rsa-sha256`, `ed25519-sha256`, or an unknown algorithm as it is written. */
  readonly algorithm: string
  readonly keyType: 'rsa' | 'ed25519'
  readonly fieldForm: Canonicalization
  readonly bodyForm: Canonicalization
  /** The lower-case names in `h=`, in order. */
  readonly fields: readonly string[]
  readonly bodyHash: string
  /** The number of octets of the canonical body that the signature covers (`l=`). */
  readonly bodyLength?: number | undefined
  /** The domain of `i=`. */
  readonly identity: string
  /** Seconds since the epoch. */
  readonly signedAt?: number | undefined
  readonly expiresAt?: number | undefined
  /** The signature value, `b=`. */
  readonly value: Buffer
}

export type Canonicalization = 'simple' | 'relaxed'
