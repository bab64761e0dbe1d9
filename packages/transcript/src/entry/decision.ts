import type { Json, PolicyResolution } from '@postern/core'
import { z } from 'zod'

/** Of words that say what was decided: how, and by whom, where that is known; `approver`: whose it was to decide, where not of who is talking. */
export const entryDecisionSchema = z.strictObject({
  method: z.string(),
  subject: z.string().optional(),
  approver: z.literal('operator').optional(),
})

export type EntryDecision = z.infer<typeof entryDecisionSchema>

/** Undefined for what is none as we write it: that is residue. */
export function readEntryDecision(value: Json | undefined): EntryDecision | undefined {
  return entryDecisionSchema.safeParse(value).data
}

/** What the gateway notes of a decision. */
export function decisionOf(resolution: PolicyResolution | undefined): EntryDecision | undefined {
  const { resolver, approver } = resolution ?? {}
  return resolver && { ...resolver, ...(approver && { approver }) }
}

/** As a member of a dialect's open bag; nothing where nothing was decided. */
export function writeEntryDecision(decided_by: EntryDecision | undefined): Record<string, Json> {
  return decided_by ? { decided_by: { ...decided_by } } : {}
}
