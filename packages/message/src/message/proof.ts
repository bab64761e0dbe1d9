// Describes the result of one check of a transport's proof, such as a signature or DKIM.
import type { Json } from '../format/json.ts'

/** One check of a transport's own proof, with its result, as the operator sees it. */
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
