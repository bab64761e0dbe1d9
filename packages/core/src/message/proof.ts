import type { Json } from '../format/notations.ts'

/** One check of a transport's own proof and how it came out; what the operator sees. */
export interface Proof {
  /** `http-signature`, `digest`, `jwt`, `dkim`, `spf`, `dmarc`, … */
  readonly kind: string
  readonly verdict:
    | 'pass'
    | 'fail'
    | 'none'
    | 'neutral'
    | 'softfail'
    | 'policy'
    | 'temperror'
    | 'permerror'
    | 'unverifiable'
  readonly reason?: string | undefined
  readonly key_id?: string | undefined
  readonly [detail: string]: Json | undefined
}
