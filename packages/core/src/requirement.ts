import type { RememberScope } from './approval.ts'
import type { TaskIntake } from './intake.ts'
import type { Json } from './json.ts'
import type { ChannelName, Sender } from './message.ts'
import type { Policy } from './part.ts'
import type { RequirementKind } from './policy-kinds.ts'
import type { PolicyResolution, ResolutionOutcome } from './policy-resolution.ts'
import type { Page } from './records.ts'
import type { RememberedStore } from './remembered-decision.ts'

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
  /** Who may decide it, as `subjectOf` names him. */
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

const requirementObjections = [
  'unknown',
  'used',
  'expired',
  'kind',
  'elsewhere',
  'receipt_used',
  'ended',
  'taken',
] as const
export type RequirementObjection = (typeof requirementObjections)[number]

export type Resolved =
  | { readonly outcome: 'resolved'; readonly requirement: RequirementRecord; readonly message: number }
  | {
      readonly outcome: 'refused'
      readonly reason: RequirementObjection
      readonly requirement?: RequirementRecord | undefined
    }

export interface RequirementStore extends RememberedStore {
  /** By the digest of its state, or by its id. One whose time is over is `expired`. */
  findRequirement(key: { readonly digest: string } | { readonly id: string }): Promise<RequirementRecord | undefined>
  listRequirements(
    page: Page & {
      readonly status?: RequirementStatus | undefined
      /** Of him alone; `operatorSubject`: those that operators decide. */
      readonly subject?: string | undefined
    },
  ): Promise<readonly RequirementRecord[]>
  /**
   * One transaction: the requirement is used up, what is to be remembered of it is, and a turn is queued in its thread, of a message by whom it was made to, by the channel it came by. Of several decisions one
   * counts.
   */
  resolveRequirement(decision: RequirementDecision, correlationId: string): Promise<Resolved>
}

/** What a caller says he has decided: `metadata.mentionable.policy_resolution` of his message. */
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

/**
 * The principal that the transport proved, and whom he speaks for by other evidence: behind one connector are many people, and none of them
 * decides for another. Whoever proves nothing is his address alone.
 */
export function subjectOf({ address, identities = [], verified }: Sender): string {
  const proven = verified ? identities.find(({ proof }) => proof.type === 'transport') : undefined
  if (!proven) return `unverified ${address}`
  const others = identities.filter(({ proof }) => proof.type !== 'transport')
  const named = others.flatMap(({ issuer, subject, on_behalf_of = [] }) =>
    [subject, ...on_behalf_of].map(name => JSON.stringify([issuer, name])),
  )
  return JSON.stringify([proven.issuer, proven.subject, ...new Set(named.sort())])
}
