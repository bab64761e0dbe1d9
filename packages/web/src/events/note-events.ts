import { EventType } from '@ag-ui/core'
import type { Json, NoteBody, NoteNotice, ToolCallPart } from '@postern/core'
import type { EntryBody, EntryContent, EntryTool } from '@postern/transcript'
import { textOfContent } from '@postern/transcript'
import type { EmitEvent } from './emit.ts'
import type { OpenStep, StepWriter } from './run-steps.ts'

/** What the agent does and thinks while it works, as a chat is told it. */
export interface NoteWriter {
  note(notice: NoteNotice): void
  /** What is still open ends here, for this reason. */
  close(reason: string): void
}

interface NoteDeps {
  /** Whose run it is. */
  readonly agent: string
  readonly emit: EmitEvent
  readonly steps: StepWriter
  callTool(call: ToolCallPart): void
}

interface Noted {
  readonly id: string
  readonly body: NoteBody
  readonly agent: string
  readonly content: EntryContent
  readonly tool: EntryTool | undefined
}

const plans: Readonly<Record<string, string>> = {
  strategic_plan: 'plan.strategic',
  suggested_plan: 'plan.suggested',
  script_plan: 'plan.script',
  script_instruction: 'plan.instruction',
}

export function createNoteWriter({ agent: own, emit, steps, callTool }: NoteDeps): NoteWriter {
  /** An id is one invocation, also of a turn that is tried again: `false` once it has ended. */
  const subagents = new Map<string, boolean>()
  /** Tools that were called. */
  const calls = new Set<string>()
  /** What each agent is at. */
  const tasks = new Map<string, { readonly step: OpenStep; readonly id: string }>()

  function startSubagent({ id, tool, agent }: Noted): void {
    if (subagents.has(id)) return
    subagents.set(id, true)
    const { worker, task } = tool?.args ?? {}
    emit({
      type: EventType.SUBAGENT_STARTED,
      subagentRunId: id,
      name: textOf(worker) || 'agent',
      ...(task !== undefined && { description: textOf(task) }),
      metadata: { agent_key: agent },
    })
  }

  function failSubagent(id: string, message: string, code?: string): void {
    subagents.set(id, false)
    emit({ type: EventType.SUBAGENT_ERROR, subagentRunId: id, message, ...(code !== undefined && { code }) })
  }

  function startCall({ id, tool }: Noted): void {
    calls.add(id)
    callTool(callOf(id, tool))
  }

  /** Of a delegation, or of an action; of what nobody has heard of there is nothing to tell. */
  function observe({ id, tool, content }: Noted): void {
    const isOpen = subagents.get(id)
    if (!isOpen && !calls.has(id)) return
    const result = textOfContent(content)
    const { error } = tool ?? {}
    if (!isOpen) callTool(callOf(id, tool, error ? { error } : { result }))
    else if (error) failSubagent(id, error.message, error.code)
    else {
      subagents.set(id, false)
      emit({ type: EventType.SUBAGENT_FINISHED, subagentRunId: id, result, outcome: { type: 'success' } })
    }
  }

  function showPlan({ id, body, agent, content }: Noted): void {
    const activityType = plans[body.kind] ?? body.kind
    const shown = { ...mapOf(content), agent_key: agent }
    emit({ type: EventType.ACTIVITY_SNAPSHOT, messageId: id, activityType, content: shown })
  }

  function tellCustom({ body, agent, content }: Noted): void {
    const { phase_id } = body
    const value = { agent_key: agent, content: plainOf(content), ...(phase_id !== undefined && { phase_id }) }
    emit({ type: EventType.CUSTOM, name: body.kind, value })
  }

  /** It is at this until it is given something else. */
  function beginTask({ id, agent }: Noted): void {
    endTask(agent)
    tasks.set(agent, { step: steps.begin(agent === own ? 'task' : `task ${agent}`, id), id })
  }

  function endTask(agent: string): void {
    const task = tasks.get(agent)
    if (task) steps.end(task.step, { message_id: task.id })
    tasks.delete(agent)
  }

  const tellers = new Map<string, (noted: Noted) => void>(
    Object.entries({
      delegation: startSubagent,
      tool_call: startCall,
      tool_result: observe,
      task: beginTask,
      synthesis: tellCustom,
      global_observation: tellCustom,
      ...Object.fromEntries(Object.keys(plans).map(kind => [kind, showPlan])),
    }),
  )
  return {
    note({ id, body }) {
      // As an entry of the transcript has it.
      const { agent_key: agent = own, content = { parts: [] }, tool } = body as Partial<EntryBody>
      tellers.get(body.kind)?.({ id, body, agent, content, tool })
    },
    close(reason) {
      for (const [id, isOpen] of subagents) if (isOpen) failSubagent(id, reason)
      for (const agent of [...tasks.keys()]) endTask(agent)
    },
  }
}

function callOf(id: string, tool: EntryTool | undefined, end: Pick<ToolCallPart, 'result' | 'error'> = {}) {
  return { kind: 'tool_call', id, name: tool?.name ?? 'tool', args: tool?.args ?? {}, ...end } as ToolCallPart
}

function plainOf(content: EntryContent): Json {
  return 'value' in content ? content.value : textOfContent(content)
}

function mapOf(content: EntryContent): Readonly<Record<string, Json>> {
  const value = plainOf(content)
  return isMap(value) ? (value as Record<string, Json>) : { content: value }
}

function isMap(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
