import type { Sender } from '../message/message.ts'
import type { PolicyResolution, ResolutionOutcome } from '../message/policy/policy-resolution.ts'
import type { OverdueStore } from './overdue-store.ts'
import type { Page } from './records/page.ts'
import type {
  RequirementDecision,
  RequirementRecord,
  RequirementStatus,
  Resolved,
} from './records/requirement-record.ts'
import type { RememberedStore } from './remembered-store.ts'

export interface RequirementStore extends RememberedStore {
  /** By the digest of its state, or by its id. One whose time is over is `expired`. */
  findRequirement(key: { readonly digest: string } | { readonly id: string }): Promise<RequirementRecord | undefined>
  listRequirements(
    page: Page & {
      readonly status?: RequirementStatus | undefined
      /** Those of this principal alone; `operatorSubject`: those that operators decide. */
      readonly subject?: string | undefined
    },
  ): Promise<readonly RequirementRecord[]>
  /**
   * One transaction: the requirement is used up, what is to be remembered of it is, and a turn is queued in its thread, of a message by whom it was made to, by the channel it came by. Of several decisions one
   * counts.
   */
  resolveRequirement(decision: RequirementDecision, correlationId: string): Promise<Resolved>
}

/** What decides requirements, or ends those that nobody decided in time. */
export type RequirementDecisions = Pick<RequirementStore, 'resolveRequirement'> & Pick<OverdueStore, 'endOverdue'>

/** A decision that a caller sends: `metadata.mentionable.policy_resolution` of their message. */
export interface RequirementClaim {
  readonly state: string
  readonly kind?: string | undefined
  readonly outcome: ResolutionOutcome
  readonly receipt?: string | undefined
  /** How far it is to count, as the caller says it. */
  readonly remember?: string | undefined
}

/** Checks what a caller brings; whether the requirement still counts is for the store to say, when the message is admitted. */
export interface RequirementClaims {
  /** @throws Rejection `forbidden`, or what is wrong with the receipt */
  check(
    claim: RequirementClaim,
    caller: { readonly agent: string; readonly sender: Sender },
  ): Promise<{ readonly decision: RequirementDecision; readonly resolution: PolicyResolution }>
}

/** How requirements get their states. A state is derived from the requirement's id by a key of the gateway: so it is stored nowhere. */
export interface RequirementDeps {
  readonly origin: string
  /** Unless the agent says how long. */
  readonly ttlMs: number
  /** 256 bits, base64url. */
  stateOf(id: string): string
  digestOf(state: string): string
}
