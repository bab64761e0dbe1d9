// Writes the steps of a run.
import { EventType } from '@ag-ui/core'
import type { EmitEvent } from './run-text.ts'
import type { StepWriter } from './work-events.ts'

export function createStepWriter(runId: string, now: () => number, emit: EmitEvent): StepWriter {
  const openIds = new Set<string>()
  return {
    begin(stage, id, hasEnded = false) {
      const name = openIds.has(stage) ? `${stage} ${id}` : stage
      openIds.add(name)
      emit({ type: EventType.STEP_STARTED, stepName: name })
      return { name, stage, startedAt: hasEnded ? undefined : now() }
    },
    end(
      { name, stage, startedAt },
      { latency_ms = startedAt === undefined ? undefined : now() - startedAt, message_id, ...details },
    ) {
      if (!openIds.delete(name)) return
      const latency = latency_ms === undefined ? {} : { latency_ms: Math.max(0, Math.round(latency_ms)) }
      const metadata = { run_id: runId, stage, ...latency, message_id, ...details }
      emit({ type: EventType.STEP_FINISHED, stepName: name, metadata })
    },
  }
}
