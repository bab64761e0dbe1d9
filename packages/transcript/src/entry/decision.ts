import type { Json, PolicyResolution } from '@postern/core'
import { z } from 'zod'

/**
 * For an entry that states a decision: how it was decided and by whom, if known. `approver`: who had to decide, if not the person in the
 * conversation.
 */
export const entryDecisionSchema = z.strictObject({
  method: z.string(),
  subject: z.string().optional(),
  approver: z.literal('operator').optional(),
})

export type EntryDecision = z.infer<typeof entryDecisionSchema>

/** Undefined for a value that we did not write; it is residue. */
export function readEntryDecision(value: Json | undefined): EntryDecision | undefined {
  return entryDecisionSchema.safeParse(value).data
}

/** What the gateway notes of a decision. */
export function decisionOf(resolution: PolicyResolution | undefined): EntryDecision | undefined {
  const { resolver, approver } = resolution ?? {}
  return resolver && { ...resolver, ...(approver && { approver }) }
}

/** As a member of a dialect's open map; nothing without a decision. */
export function writeEntryDecision(decided_by: EntryDecision | undefined): Record<string, Json> {
  return decided_by ? { decided_by: { ...decided_by } } : {}
}
