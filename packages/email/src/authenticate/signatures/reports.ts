/** The DNS answer for one name: the TXT records, or the code of the error. */
export type TxtAnswer = { readonly records: readonly (readonly string[])[] } | { readonly code: string }

/** One DKIM signature as the library judged it, before we do. */
export interface SignatureReport {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  /** RSA modulus length. */
  readonly bits?: number | undefined
  readonly result: string
  readonly comment: string
  /** Octets of the body that are not covered (`l=`). */
  readonly uncovered: number
  /** The key is declared as a test (`t=y`). */
  readonly isTesting: boolean
  /** Seconds since the epoch. */
  readonly signedAt?: number | undefined
  /** Lower-case names of the fields it covers. */
  readonly covers: readonly string[]
  /** SHA-256 of the signature value. */
  readonly id: string
}

/** An ARC chain as the library judged it (RFC 8617). */
export interface ChainReport {
  readonly result: 'pass' | 'fail' | 'none'
  readonly comment: string
  /** How many sets it has. */
  readonly instances: number
  /** Of the last seal. */
  readonly domain: string
  readonly selector: string
  /** SHA-256 of the last seal's value. */
  readonly id: string
  /** The DMARC verdict of the last sealer before it changed the message, and its domain. */
  readonly dmarc?: { readonly result: string; readonly from: string } | undefined
  /** Lower-case names of the fields that its newest message signature covers. */
  readonly covers: readonly string[]
}
