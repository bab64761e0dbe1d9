// Declares the check of decisions that callers send, and the states of requirements.

import type { PolicyResolution, ResolutionOutcome, Sender } from '@postern/message'
import type { RequirementDecision } from './records/requirement-record.ts'

/** A decision that a caller sends: `metadata.mentionable.policy_resolution` of their message. */
export interface RequirementClaim {
  readonly state: string
  readonly kind?: string | undefined
  readonly outcome: ResolutionOutcome
  readonly receipt?: string | undefined
  /** The later calls for which it counts, in the caller's own notation. */
  readonly remember?: string | undefined
}

/** Checks the decisions of callers. The store decides whether the requirement is still open when it admits the message. */
export interface RequirementClaims {
  /** Checks the claim of a caller. @throws Rejection `forbidden`, or another one that says what is wrong with the receipt */
  check(
    claim: RequirementClaim,
    caller: { readonly agent: string; readonly sender: Sender },
  ): Promise<{ readonly decision: RequirementDecision; readonly resolution: PolicyResolution }>
}

/** The states of requirements. A state is derived from the requirement's id by a key of the gateway, so it is stored nowhere. */
export interface RequirementDeps {
  readonly origin: string
  /** The lifetime of a requirement, in ms, unless the agent sets another one. */
  readonly ttlMs: number
  /** Returns the state of a requirement, 256 bits in base64url; with `digest`, the state that has this digest, even if an earlier key of the gateway derived it. */
  stateOf(id: string, digest?: string): string
  digestOf(state: string): string
}
