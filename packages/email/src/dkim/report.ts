import type { DkimFault } from './faults.ts'

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
