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
