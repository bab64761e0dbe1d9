import { EventType } from '@ag-ui/core'
import type { ToolCallPart } from '@postern/core'
import { writeToolResult } from '../parts/write-tool-result.ts'
import type { EmitEvent } from './emit.ts'
import type { OpenStep, StepWriter } from './run-steps.ts'

const toolStage = 'tool_execution'

/** Writes calls of tools and their results. */
export interface ToolWriter {
  /** `isTrace`: the agent's own call, which no client runs. */
  write(call: ToolCallPart, isTrace?: boolean): void
  hasCalls(): boolean
  /** Calls that the client runs itself. */
  listPending(): readonly string[]
  /** Ends the steps of calls without a result. */
  close(): void
}

interface ToolDeps {
  readonly clientTools: ReadonlySet<string>
  readonly emit: EmitEvent
  readonly steps: StepWriter
  /** Runs before each new call. */
  beforeCall(): void
}

interface BegunCall {
  readonly name: string
  hasEnded: boolean
  readonly isTrace: boolean
  /** The call's step while it is open. */
  step: OpenStep | undefined
}

export function createToolWriter(deps: ToolDeps): ToolWriter {
  const { clientTools, emit, steps, beforeCall } = deps
  const begun = new Map<string, BegunCall>()
  const endStep = (id: string, call: BegunCall) => {
    if (call.step) steps.end(call.step, { message_id: id, tool_name: call.name })
    call.step = undefined
  }
  return {
    write(part, isTrace = false) {
      const { id, name, result, error, continues } = part
      if (!begun.has(id) && continues === undefined) {
        beforeCall()
        begun.set(id, { name, hasEnded: false, isTrace, step: beginCall(part, deps) })
      }
      // An earlier run wrote the beginning of a call that continues.
      const call = begun.get(id) ?? { name, hasEnded: false, isTrace: false, step: undefined }
      begun.set(id, call)
      if ((result === undefined && !error) || call.hasEnded) return
      call.hasEnded = true
      emit(writeToolResult({ id, result, error }))
      endStep(id, call)
    },
    hasCalls: () => begun.size > 0,
    listPending() {
      const pending = [...begun].filter(([, call]) => !call.hasEnded && !call.isTrace && clientTools.has(call.name))
      return pending.map(([id]) => id)
    },
    close() {
      for (const [id, call] of begun) endStep(id, call)
    },
  }
}

/** A call that the client runs is no step of the gateway. If a call comes with its result, its duration is unknown. */
function beginCall(
  { id, name, args = {}, result, error }: ToolCallPart,
  { clientTools, emit, steps }: ToolDeps,
): OpenStep | undefined {
  const hasEnded = result !== undefined || error !== undefined
  const step = clientTools.has(name) ? undefined : steps.begin(toolStage, id, hasEnded)
  emit({ type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name })
  emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(args) })
  emit({ type: EventType.TOOL_CALL_END, toolCallId: id })
  return step
}
