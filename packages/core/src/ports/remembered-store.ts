import { z } from 'zod'
import { rememberScopes } from '../message/policy/remember-scope.ts'
import { approvers } from '../message/response.ts'
import type { Page } from './records/page.ts'
import type { RequirementRecord } from './records/requirement-record.ts'

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
