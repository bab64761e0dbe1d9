import type { ProvenActivity } from '../proofs/proven-activity.ts'

/** A proven activity and the name of who sent it. */
export interface NamedActivity extends ProvenActivity {
  /** `@user@host` as WebFinger confirms it; absent when it does not, or when nothing needs the name. */
  readonly address: string | undefined
}
