// Declares the storage of decisions that count for later calls of the same tool.

import { approvers, rememberScopes } from '@postern/message'
import { z } from 'zod'
import type { Page } from '../records/operator/page.ts'
import type { RequirementRecord } from '../records/requirement-record.ts'

/** The effects that a remembered decision may have on later calls of the tool: they run at once, or never. */
const rememberedPolicies = ['direct', 'forbidden'] as const

/** A decision on one call that also counts for later calls of the same tool by the same person. It counts for nobody else. */
export const rememberedDecisionSchema = z.object({
  id: z.string(),
  /** Public id of the requirement that was decided. */
  requirement: z.string(),
  tool: z.string(),
  /** The name of the group of calls to which it applies, such as calls with arguments of one kind. Absent if it applies to all calls of the tool. */
  calls: z.string().optional(),
  /** The calling agent, if several agents share an address. */
  member: z.string().optional(),
  approver: z.enum(approvers),
  policy: z.enum(rememberedPolicies),
  scope: z.enum(rememberScopes),
  /** The store's number of the conversation in which it was decided. */
  thread: z.number(),
  /** The caller, as `subjectOf` names the caller. */
  subject: z.string(),
  /** The address of the caller. */
  address: z.string(),
  /** The method of the decision and the principal who decided, in one text. */
  resolver: z.string(),
  /** The time of the decision, ISO 8601 UTC. */
  given_at: z.string(),
  expires_at: z.string(),
})

export type RememberedDecision = z.infer<typeof rememberedDecisionSchema>

export type ListedDecision = RememberedDecision & { readonly number: number }

export const rememberedDecisionKind = 'remembered-decision'

/** The store of decisions that count for later calls. */
export interface RememberedStore {
  /** Lists the decisions that have not expired, newest first. With `deciderKeys` (keys of `formatDeciderKey`), lists only the decisions of these people. */
  listRememberedDecisions(
    filter: { readonly agent: string; readonly deciderKeys?: readonly string[] | undefined } & Page,
  ): Promise<readonly ListedDecision[]>
  findRememberedDecision(key: { readonly agent: string; readonly id: string }): Promise<RememberedDecision | undefined>
  /** Finds the decision on a requirement, unless the decision has expired. */
  findDecisionOfRequirement(requirement: RequirementRecord): Promise<RememberedDecision | undefined>
  /** Revokes a decision, so that its approver is asked again. Returns false if there is none. */
  revokeRememberedDecision(key: { readonly agent: string; readonly id: string }): Promise<boolean>
}
