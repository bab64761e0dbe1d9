import type { Json } from '../../format/notations.ts'
import type { RememberScope } from '../../message/choices.ts'
import type { ChannelName } from '../../message/message.ts'
import type { Policy } from '../../message/part.ts'
import type { PolicyResolution, ResolutionOutcome } from '../../message/policy.ts'
import type { RequirementKind } from '../../message/response.ts'
import type { TaskIntake } from './task.ts'

/** As many requirements may be open in one thread; one more, and the oldest expires. */
export const maxOpenRequirements = 20

/** What an agent requires, ready to be made durable with its answer. */
export interface PlannedRequirement {
  /** Public: names it to payers and operators, and allows nothing. */
  readonly id: string
  /** Lower-case hex of the SHA-256 of its state. */
  readonly digest: string
  readonly kind: RequirementKind
  /** Without its state. */
  readonly policy: Policy
  /** The principal who may decide it, as `subjectOf` names them. */
  readonly subject: string
  /** ms */
  readonly expiresAt: number
  /** A mailbox that is told of it with its answer; kept nowhere. */
  readonly notify?: string | undefined
}

export type RequirementStatus = 'open' | ResolutionOutcome | 'expired'

export interface RequirementRecord extends PlannedRequirement {
  readonly place: number
  readonly agent: string
  readonly via: ChannelName
  /** Our number of the message that caused it. */
  readonly message: number
  readonly thread: number
  readonly status: RequirementStatus
  readonly issuedAt: number
  readonly resolvedAt?: number | undefined
  readonly resolver?: Resolver | undefined
  /** Names the receipt that paid it. */
  readonly receipt?: string | undefined
  /** Address of whom it was made to. */
  readonly address: string
}

export type Resolver = NonNullable<PolicyResolution['resolver']>

/** A checked receipt. `key` is unique to it: no second requirement is paid by it. */
export interface UsedReceipt {
  readonly key: string
  readonly provider: string
  readonly reference: string
}

/** A decision on a requirement; the store says whether it still counts. */
export interface RequirementDecision {
  readonly digest: string
  readonly kind: RequirementKind
  readonly outcome: ResolutionOutcome
  readonly resolver: Resolver
  readonly receipt?: UsedReceipt | undefined
  /** Of a call that an operator allows: what it is to run with instead. */
  readonly args?: Json | undefined
  /** How far it counts for calls of the same tool that come later; absent: not at all. */
  readonly remember?: RememberScope | undefined
  /** Of which its turn is, where that is not the one of the message that caused the requirement. */
  readonly task?: TaskIntake | undefined
}

export type RequirementObjection =
  | 'unknown'
  | 'used'
  | 'expired'
  | 'kind'
  | 'elsewhere'
  | 'receipt_used'
  | 'ended'
  | 'taken'

export type Resolved =
  | { readonly outcome: 'resolved'; readonly requirement: RequirementRecord; readonly message: number }
  | {
      readonly outcome: 'refused'
      readonly reason: RequirementObjection
      readonly requirement?: RequirementRecord | undefined
    }
