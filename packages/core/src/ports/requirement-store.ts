import { z } from 'zod'
import { rememberScopes } from '../message/choices.ts'
import type { Sender } from '../message/message.ts'
import type { PolicyResolution, ResolutionOutcome } from '../message/policy.ts'
import { approvers } from '../message/response.ts'
import type { Page } from './records/page.ts'
import type {
  RequirementDecision,
  RequirementRecord,
  RequirementStatus,
  Resolved,
} from './records/requirement-record.ts'

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

/** Waits that operators have let go by. */
export interface OverdueStore {
  /** Requirements of operators whose time is over and of which nothing has followed yet; who has waited longest first. */
  listOverdue(limit: number): Promise<readonly RequirementRecord[]>
  /**
   * One transaction: the requirement is over for good, and a turn is queued in its thread as by any decision, so that who asked is told. Without a
   * `correlationId` no turn follows. Gives the message of the turn; undefined when there is none, or somebody else was first.
   */
  endOverdue(requirement: string, correlationId?: string): Promise<number | undefined>
}

/** As what such a call counts from now on: it runs at once, or never. */
const rememberedPolicies = ['direct', 'forbidden'] as const

/** A decision on one call that counts for later calls of the same tool, too: for whom it was decided, and for nobody else. */
export const rememberedDecisionSchema = z.object({
  id: z.string(),
  /** Public id of the requirement that was decided. */
  requirement: z.string(),
  tool: z.string(),
  /** Which of several agents behind one address calls it. */
  member: z.string().optional(),
  approver: z.enum(approvers),
  policy: z.enum(rememberedPolicies),
  scope: z.enum(rememberScopes),
  /** The store's number of the conversation in which it was decided. */
  thread: z.number(),
  /** The caller, as `subjectOf` names them, and their address. */
  subject: z.string(),
  address: z.string(),
  /** The decision, and who made it. */
  resolver: z.string(),
  /** ISO 8601 UTC. */
  given_at: z.string(),
  expires_at: z.string(),
})

export type RememberedDecision = z.infer<typeof rememberedDecisionSchema>

export type ListedDecision = RememberedDecision & { readonly place: number }

export const rememberedKind = 'remembered-decision'

/** Decisions that count for calls that come later. */
export interface RememberedStore {
  /** Newest first, those that are over left out. `persons`: theirs alone, as `personKeyOf` names them. */
  listRemembered(
    filter: { readonly agent: string; readonly persons?: readonly string[] | undefined } & Page,
  ): Promise<readonly ListedDecision[]>
  findRemembered(key: { readonly agent: string; readonly id: string }): Promise<RememberedDecision | undefined>
  /** What still counts of what was decided on it. */
  findRememberedOf(requirement: RequirementRecord): Promise<RememberedDecision | undefined>
  /** Whoever decides is asked again. False when there is none. */
  revokeRemembered(key: { readonly agent: string; readonly id: string }): Promise<boolean>
}
