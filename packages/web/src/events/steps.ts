// Writes the steps of a run.
import { EventType } from '@ag-ui/core'
import type { EmitEvent } from './run-text.ts'
import type { StepWriter } from './work-events.ts'

export function createStepWriter(runId: string, now: () => number, emit: EmitEvent): StepWriter {
  const openIds = new Set<string>()
  return {
    begin(stage, id, isOver = false) {
      const name = openIds.has(stage) ? `${stage} ${id}` : stage
      openIds.add(name)
      emit({ type: EventType.STEP_STARTED, stepName: name })
      return { name, stage, from: isOver ? undefined : now() }
    },
    end({ name, stage, from }, { latency_ms = from === undefined ? undefined : now() - from, message_id, ...details }) {
      if (!openIds.delete(name)) return
      const latency = latency_ms === undefined ? {} : { latency_ms: Math.max(0, Math.round(latency_ms)) }
      const metadata = { run_id: runId, stage, ...latency, message_id, ...details }
      emit({ type: EventType.STEP_FINISHED, stepName: name, metadata })
    },
  }
}
