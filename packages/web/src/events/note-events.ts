import { EventType } from '@ag-ui/core'
import type { Json, NoteBody, NoteNotice, ToolCallPart } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { EntryBody, EntryContent, EntryTool } from '@postern/transcript'
import { planActivityTypes, textOfContent } from '@postern/transcript'
import type { EmitEvent } from './emit.ts'
import type { OpenStep, StepWriter } from './run-steps.ts'

/** Shows what the agent notes while it works: plans, tasks, subagents, calls. */
export interface NoteWriter {
  note(notice: NoteNotice): void
  /** Ends what is still open, for this reason. */
  close(reason: string): void
}

interface NoteDeps {
  /** The agent that runs. */
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

interface OpenNotes extends NoteDeps {
  /** Whether each subagent still runs. A turn that is tried again repeats the ids, and no subagent starts twice. */
  readonly subagents: Map<string, boolean>
  /** Ids of calls. */
  readonly calls: Set<string>
  /** The present task of each agent. */
  readonly tasks: Map<string, { readonly step: OpenStep; readonly id: string }>
}

type WriteNote = (noted: Noted, open: OpenNotes) => void

const noteWriters: ReadonlyMap<string, WriteNote> = new Map<string, WriteNote>([
  ['delegation', startSubagent],
  ['tool_call', startCall],
  ['tool_result', writeResult],
  ['task', beginTask],
  ['synthesis', writeCustom],
  ['global_observation', writeCustom],
  ...Object.keys(planActivityTypes).map(kind => [kind, writePlan] as const),
])

export function createNoteWriter(deps: NoteDeps): NoteWriter {
  const open: OpenNotes = { ...deps, subagents: new Map(), calls: new Set(), tasks: new Map() }
  return {
    note({ id, body }) {
      // Notes have the form of a transcript's entry.
      const { agent_key: agent = deps.agent, content = { parts: [] }, tool } = body as Partial<EntryBody>
      noteWriters.get(body.kind)?.({ id, body, agent, content, tool }, open)
    },
    close(reason) {
      for (const [id, isRunning] of open.subagents) if (isRunning) failSubagent({ id, message: reason }, open)
      for (const agent of [...open.tasks.keys()]) endTask(agent, open)
    },
  }
}

function startSubagent({ id, tool, agent }: Noted, { subagents, emit }: OpenNotes): void {
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

interface SubagentFailure {
  readonly id: string
  readonly message: string
  readonly code?: string | undefined
}

function failSubagent({ id, message, code }: SubagentFailure, { subagents, emit }: OpenNotes): void {
  subagents.set(id, false)
  emit({ type: EventType.SUBAGENT_ERROR, subagentRunId: id, message, ...(code !== undefined && { code }) })
}

function startCall({ id, tool }: Noted, { calls, callTool }: OpenNotes): void {
  calls.add(id)
  callTool(callOf(id, tool))
}

/** The result of a subagent or of a call. A result without a beginning is not shown. */
function writeResult({ id, tool, content }: Noted, open: OpenNotes): void {
  const { subagents, calls, callTool, emit } = open
  const isRunning = subagents.get(id)
  if (!isRunning && !calls.has(id)) return
  const result = textOfContent(content)
  const { error } = tool ?? {}
  if (!isRunning) callTool(callOf(id, tool, error ? { error } : { result }))
  else if (error) failSubagent({ id, ...error }, open)
  else {
    subagents.set(id, false)
    emit({ type: EventType.SUBAGENT_FINISHED, subagentRunId: id, result, outcome: { type: 'success' } })
  }
}

function writePlan({ id, body, agent, content }: Noted, { emit }: OpenNotes): void {
  const activityType = planActivityTypes[body.kind] ?? body.kind
  const shown = { ...mapOf(content), agent_key: agent }
  emit({ type: EventType.ACTIVITY_SNAPSHOT, messageId: id, activityType, content: shown })
}

function writeCustom({ body, agent, content }: Noted, { emit }: OpenNotes): void {
  const { phase_id } = body
  const value = { agent_key: agent, content: plainOf(content), ...(phase_id !== undefined && { phase_id }) }
  emit({ type: EventType.CUSTOM, name: body.kind, value })
}

/** An agent keeps a task until it gets another one. */
function beginTask({ id, agent }: Noted, open: OpenNotes): void {
  endTask(agent, open)
  open.tasks.set(agent, { step: open.steps.begin(agent === open.agent ? 'task' : `task ${agent}`, id), id })
}

function endTask(agent: string, { tasks, steps }: OpenNotes): void {
  const task = tasks.get(agent)
  if (task) steps.end(task.step, { message_id: task.id })
  tasks.delete(agent)
}

function callOf(id: string, tool: EntryTool | undefined, end: Pick<ToolCallPart, 'result' | 'error'> = {}) {
  return { kind: 'tool_call', id, name: tool?.name ?? 'tool', args: tool?.args ?? {}, ...end } as ToolCallPart
}

function plainOf(content: EntryContent): Json {
  return 'value' in content ? content.value : textOfContent(content)
}

function mapOf(content: EntryContent): Readonly<Record<string, Json>> {
  const value = plainOf(content)
  return isJsonObject(value) ? (value as Record<string, Json>) : { content: value }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
