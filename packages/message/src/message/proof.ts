// The results of checks of a transport's own proof, such as a signature or DKIM.
import type { Json } from '../format/json.ts'

/** The result of one check, as the operator sees it. */
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
