import { EventType } from '@ag-ui/core'
import type { NoteNotice, StageNotice } from '@postern/core'
import type { AguiUsage } from '@postern/transcript'
import type { EmitEvent } from './emit.ts'

/** A step that has begun. */
export interface OpenStep {
  readonly name: string
  readonly stage: string
  /** ms; undefined when the start is unknown. */
  readonly from: number | undefined
}

interface StepEnd {
  readonly message_id: string
  /** Default: the time since it began. */
  readonly latency_ms?: number | undefined
  readonly tool_name?: string
  readonly usage?: AguiUsage[]
}

export interface StepWriter {
  /** Open steps have unique names: a second step of one stage adds its id. */
  begin(stage: string, id: string, isOver?: boolean): OpenStep
  end(step: OpenStep, end: StepEnd): void
}

export function createStepWriter(runId: string, now: () => number, emit: EmitEvent): StepWriter {
  const open = new Set<string>()
  return {
    begin(stage, id, isOver = false) {
      const name = open.has(stage) ? `${stage} ${id}` : stage
      open.add(name)
      emit({ type: EventType.STEP_STARTED, stepName: name })
      return { name, stage, from: isOver ? undefined : now() }
    },
    end({ name, stage, from }, { latency_ms = from === undefined ? undefined : now() - from, message_id, ...more }) {
      if (!open.delete(name)) return
      const latency = latency_ms === undefined ? {} : { latency_ms: Math.max(0, Math.round(latency_ms)) }
      const metadata = { run_id: runId, stage, ...latency, message_id, ...more }
      emit({ type: EventType.STEP_FINISHED, stepName: name, metadata })
    },
  }
}

/** Stages that the agent names. One is open at a time. */
export interface StageWriter {
  begin(notice: StageNotice): void
  /** The note that the transcript keeps of it. */
  end(notice: NoteNotice): void
  close(message_id: string): void
}

export function createStageWriter(steps: StepWriter): StageWriter {
  let open: { readonly step: OpenStep; readonly id: string } | undefined

  function close(message_id: string, latency_ms?: number): void {
    if (open) steps.end(open.step, { message_id, latency_ms })
    open = undefined
  }

  return {
    begin({ id, stage }) {
      close(id)
      open = { step: steps.begin(stage, id), id }
    },
    end({ id, body: { metadata, latency_ms } }) {
      if (open?.id !== id) return
      const { message_id = id } = metadata as { readonly message_id?: string }
      close(message_id, Number(latency_ms))
    },
    close: message_id => close(message_id),
  }
}
