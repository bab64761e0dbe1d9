import type { KeyObject } from 'node:crypto'

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

export type Canonicalization = 'simple' | 'relaxed'
