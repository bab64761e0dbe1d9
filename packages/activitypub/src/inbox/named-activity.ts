import type { ProvenActivity } from '../proofs/proven-activity.ts'

/** A proven activity and the name of who sent it. */
export interface NamedActivity extends ProvenActivity {
  /** `@user@host` as confirmed by WebFinger; absent when it is not, or nobody needs it. */
  readonly address: string | undefined
}
