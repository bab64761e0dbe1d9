import type { Json, TokenUsage } from '@postern/core'
import { tokenUsageSchema } from '@postern/core'
import { z } from 'zod'

const usagesSchema = z.array(tokenUsageSchema).min(1)

/** What an entry cost; undefined where nothing, or nothing of ours, stands there. */
export function readEntryUsage(usage: Json | undefined): TokenUsage[] | undefined {
  return usagesSchema.safeParse(usage).data
}
