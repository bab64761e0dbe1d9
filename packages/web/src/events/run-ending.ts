import type { Interrupt, RunFinishedOutcome } from '@ag-ui/core'
import type { TokenUsage } from '@postern/core'
import type { AguiUsage } from '@postern/transcript'
import { writeAguiUsage } from '@postern/transcript'

export type RunEnding =
  | { readonly kind: 'success' | 'cancelled' }
  | { readonly kind: 'interrupt'; readonly interrupts: readonly Interrupt[] }

export function writeOutcome(ending: RunEnding, pendingToolCallIds: readonly string[]): RunFinishedOutcome {
  if (ending.kind === 'interrupt') return { type: 'interrupt', interrupts: [...ending.interrupts] }
  if (ending.kind === 'cancelled') return { type: 'cancelled' }
  return { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds: [...pendingToolCallIds] }) }
}

/** What a run cost, if the agent or its model said so. */
export function writeCost(spent: readonly TokenUsage[]): { readonly usage?: AguiUsage[] } {
  const usage = writeAguiUsage([...spent])
  return usage ? { usage } : {}
}
