// Describes the requirements of agents as the store keeps them, with their decisions.
import type {
  ChannelName,
  Json,
  Policy,
  PolicyResolution,
  RememberScope,
  RequirementKind,
  ResolutionOutcome,
} from '@postern/message'
import type { TaskIntake } from './task.ts'

/** The maximum number of open requirements in one thread. One more makes the oldest expire. */
export const maxOpenRequirements = 20

/** A requirement of an agent, ready to be made durable with its answer. */
export interface PlannedRequirement {
  /** The public id, which names it to payers and operators and permits nothing. */
  readonly id: string
  /** The SHA-256 of its state, in lower-case hex. */
  readonly digest: string
  readonly kind: RequirementKind
  /** The policy without its state. */
  readonly policy: Policy
  /** The principal who may decide it, as `subjectOf` names them. */
  readonly subject: string
  /** ms */
  readonly expiresAt: number
  /** A mailbox that gets a notice together with the answer. It is not stored. */
  readonly notify?: string | undefined
}

export type RequirementStatus = 'open' | ResolutionOutcome | 'expired'

export interface RequirementRecord extends PlannedRequirement {
  readonly number: number
  readonly agent: string
  readonly via: ChannelName
  /** Our number of the message that caused it. */
  readonly message: number
  readonly thread: number
  readonly status: RequirementStatus
  readonly issuedAt: number
  readonly resolvedAt?: number | undefined
  readonly resolver?: Resolver | undefined
  /** The name of the receipt that paid it. */
  readonly receipt?: string | undefined
  /** The address of the person from whom the agent requires it. */
  readonly address: string
}

type Resolver = NonNullable<PolicyResolution['resolver']>

/** A checked receipt. Its unique `key` prevents it from paying for a second requirement. */
export interface UsedReceipt {
  readonly key: string
  readonly provider: string
  readonly reference: string
}

/** A decision on a requirement. The store decides whether the requirement is still open. */
export interface RequirementDecision {
  readonly digest: string
  readonly kind: RequirementKind
  readonly outcome: ResolutionOutcome
  readonly resolver: Resolver
  /** True if nobody declined and the question was closed instead. */
  readonly isCancelled?: true | undefined
  readonly receipt?: UsedReceipt | undefined
  /** The changed arguments with which an operator allows a call. */
  readonly args?: Json | undefined
  /** The later calls of the same tool for which it counts; absent if it counts only once. */
  readonly remember?: RememberScope | undefined
  /** The task of its turn, if that differs from the task of the message that caused the requirement. */
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

export type ResolutionResult =
  | { readonly outcome: 'resolved'; readonly requirement: RequirementRecord; readonly message: number }
  | {
      readonly outcome: 'refused'
      readonly reason: RequirementObjection
      readonly requirement?: RequirementRecord | undefined
    }

/** The result of repeating a decision. It is refused if nobody has decided yet, if its turn runs or has not failed, or if too much is stored. */
export type RerunResult =
  /** `hasEndedTask` is true if the task of the requirement has ended, so its caller gets no notice. It is never true for a chat, which has a history. */
  | { readonly outcome: 'admitted'; readonly message: number; readonly hasEndedTask: boolean }
  | { readonly outcome: 'refused'; readonly reason: 'undecided' | 'running' | 'done' | 'full' }
