// Writes an agent's steps, stages, notes and tool calls as AG-UI events.
import type { ToolCallResultEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { Json, ToolCallPart } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { NoteBody, NoteNotice, StageNotice } from '@postern/pipeline'
import { readResultParts } from '@postern/pipeline'
import type { AguiUsage, EntryBody, EntryContent, EntryTool } from '@postern/transcript'
import { nameCall, nameResult, planActivityTypes, textOfContent, writeAguiParts } from '@postern/transcript'
import type { EmitEvent } from './run-text.ts'

/** A step that has begun. */
export interface OpenStep {
  readonly name: string
  readonly stage: string
  /** The start, in ms. Undefined if it is unknown. */
  readonly startedAt: number | undefined
}

interface StepEnd {
  readonly message_id: string
  /** The duration in ms. The default is the time since the step began. */
  readonly latency_ms?: number | undefined
  readonly tool_name?: string
  readonly usage?: AguiUsage[]
}

export interface StepWriter {
  /** Begins a step. Open steps have unique names, so a second step of one stage adds its id. */
  begin(stage: string, id: string, hasEnded?: boolean): OpenStep
  end(step: OpenStep, end: StepEnd): void
}

/** A writer of the stages that the agent names. One stage is open at a time. */
export interface StageWriter {
  begin(notice: StageNotice): void
  /** Ends the open stage, if this is its note in the transcript. */
  end(notice: NoteNotice): void
  close(message_id: string): void
}

export function createStageWriter(steps: StepWriter): StageWriter {
  let openStage: { readonly step: OpenStep; readonly id: string } | undefined

  function close(message_id: string, latency_ms?: number): void {
    if (openStage) steps.end(openStage.step, { message_id, latency_ms })
    openStage = undefined
  }

  return {
    begin({ id, stage }) {
      close(id)
      openStage = { step: steps.begin(stage, id), id }
    },
    end({ id, body: { metadata, latency_ms } }) {
      if (openStage?.id !== id) return
      const { message_id = id } = metadata as { readonly message_id?: string }
      close(message_id, Number(latency_ms))
    },
    close: message_id => close(message_id),
  }
}

/** A writer of the agent's notes during its work: plans, tasks, subagents and calls. */
export interface NoteWriter {
  writeNote(notice: NoteNotice): void
  /** Ends everything that is still open, for this reason. */
  close(reason: string): void
}

interface NoteWriterDeps {
  /** The agent that runs. */
  readonly agent: string
  readonly emit: EmitEvent
  readonly steps: StepWriter
  callTool(call: ToolCallPart): void
}

interface StoredNote {
  readonly id: string
  readonly body: NoteBody
  readonly agent: string
  readonly content: EntryContent
  readonly tool: EntryTool | undefined
}

interface OpenNotes extends NoteWriterDeps {
  /** True for each subagent that is still running. A retried turn repeats the ids, and no subagent starts twice. */
  readonly subagents: Map<string, boolean>
  /** The ids of noted calls. */
  readonly calls: Set<string>
  /** The current task of each agent. */
  readonly tasks: Map<string, { readonly step: OpenStep; readonly id: string }>
}

type WriteNote = (note: StoredNote, notes: OpenNotes) => void

const noteWriters: ReadonlyMap<string, WriteNote> = new Map<string, WriteNote>([
  ['delegation', startSubagent],
  ['tool_call', startCall],
  ['tool_result', writeResult],
  ['task', beginTask],
  ['synthesis', writeCustom],
  ['global_observation', writeCustom],
  ...Object.keys(planActivityTypes).map(kind => [kind, writePlan] as const),
])

export function createNoteWriter(deps: NoteWriterDeps): NoteWriter {
  const notes: OpenNotes = { ...deps, subagents: new Map(), calls: new Set(), tasks: new Map() }
  return {
    writeNote({ id, body }) {
      // The body of a note has the form of a transcript entry.
      const { agent_key: agent = deps.agent, content = { parts: [] }, tool } = body as Partial<EntryBody>
      noteWriters.get(body.kind)?.({ id, body, agent, content, tool }, notes)
    },
    close(reason) {
      for (const [id, isRunning] of notes.subagents) if (isRunning) failSubagent({ id, message: reason }, notes)
      for (const agent of [...notes.tasks.keys()]) endTask(agent, notes)
    },
  }
}

function startSubagent({ id, tool, agent }: StoredNote, { subagents, emit }: OpenNotes): void {
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

function failSubagent(
  { id, message, code }: { readonly id: string; readonly message: string; readonly code?: string | undefined },
  { subagents, emit }: OpenNotes,
): void {
  subagents.set(id, false)
  emit({ type: EventType.SUBAGENT_ERROR, subagentRunId: id, message, ...(code !== undefined && { code }) })
}

function startCall({ id, tool }: StoredNote, { calls, callTool }: OpenNotes): void {
  calls.add(id)
  callTool(toolCallOf(id, tool))
}

/** Writes the result of a subagent or of a call. A result whose beginning was not written is not shown. */
function writeResult({ id, tool, content }: StoredNote, notes: OpenNotes): void {
  const { subagents, calls, callTool, emit } = notes
  const isRunning = subagents.get(id)
  if (!isRunning && !calls.has(id)) return
  const result = textOfContent(content)
  const { error } = tool ?? {}
  if (!isRunning) callTool(toolCallOf(id, tool, error ? { error } : { result }))
  else if (error) failSubagent({ id, ...error }, notes)
  else {
    subagents.set(id, false)
    emit({ type: EventType.SUBAGENT_FINISHED, subagentRunId: id, result, outcome: { type: 'success' } })
  }
}

function writePlan({ id, body, agent, content }: StoredNote, { emit }: OpenNotes): void {
  const activityType = planActivityTypes[body.kind] ?? body.kind
  const state = { ...mapOf(content), agent_key: agent }
  emit({ type: EventType.ACTIVITY_SNAPSHOT, messageId: id, activityType, content: state })
}

function writeCustom({ body, agent, content }: StoredNote, { emit }: OpenNotes): void {
  const { phase_id } = body
  const value = { agent_key: agent, content: jsonOf(content), ...(phase_id !== undefined && { phase_id }) }
  emit({ type: EventType.CUSTOM, name: body.kind, value })
}

/** Begins a task of an agent. The agent's previous task ends only now. */
function beginTask({ id, agent }: StoredNote, notes: OpenNotes): void {
  endTask(agent, notes)
  notes.tasks.set(agent, { step: notes.steps.begin(agent === notes.agent ? 'task' : `task ${agent}`, id), id })
}

function endTask(agent: string, { tasks, steps }: OpenNotes): void {
  const task = tasks.get(agent)
  if (task) steps.end(task.step, { message_id: task.id })
  tasks.delete(agent)
}

function toolCallOf(id: string, tool: EntryTool | undefined, end: Pick<ToolCallPart, 'result' | 'error'> = {}) {
  return { kind: 'tool_call', id, name: tool?.name ?? 'tool', args: tool?.args ?? {}, ...end } as ToolCallPart
}

function jsonOf(content: EntryContent): Json {
  return 'value' in content ? content.value : textOfContent(content)
}

function mapOf(content: EntryContent): Readonly<Record<string, Json>> {
  const value = jsonOf(content)
  return isJsonObject(value) ? (value as Record<string, Json>) : { content: value }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

const toolStage = 'tool_execution'

/** The origin of a call. */
interface CallSource {
  /** The id of the answer. Absent for a call that was only noted. */
  readonly responseId?: string
  /** True for the agent's own call, which no client runs. It does not split the text. */
  readonly isTrace?: boolean
}

/** A writer of tool calls and their results. */
export interface ToolWriter {
  write(call: ToolCallPart, source: CallSource): void
  /** Keeps the given calls of this answer, and drops all other calls of answers. Returns true if there were no other calls. */
  dropOtherCalls(calls: readonly ToolCallPart[], responseId: string): boolean
  /** Returns the ids of the open calls that the client has to run. */
  listPending(): readonly string[]
  /** Ends the steps of calls without a result. */
  close(): void
}

interface ToolWriterDeps {
  readonly clientTools: ReadonlySet<string>
  readonly emit: EmitEvent
  readonly steps: StepWriter
  /** Runs before each new call that is part of the answer. */
  beforeCall(): void
}

interface OpenCall {
  readonly name: string
  readonly responseId: string | undefined
  hasEnded: boolean
  readonly isTrace: boolean
  /** The step of the call while it is open. */
  step: OpenStep | undefined
}

export function createToolWriter(deps: ToolWriterDeps): ToolWriter {
  const { clientTools, emit, steps, beforeCall } = deps
  const openCalls = new Map<string, OpenCall>()
  const endStep = (id: string, call: OpenCall) => {
    if (call.step) steps.end(call.step, { message_id: id, tool_name: call.name })
    call.step = undefined
  }
  return {
    write(part, { responseId, isTrace = false }) {
      const { id, name, result, error, continues } = part
      if (!openCalls.has(id) && responseId !== undefined && !isTrace) beforeCall()
      // If the call continues, an earlier run wrote its beginning.
      const begin = () => (continues === undefined ? beginCall(part, deps, responseId) : undefined)
      const call = openCalls.get(id) ?? { name, responseId, hasEnded: false, isTrace, step: begin() }
      openCalls.set(id, call)
      if ((result === undefined && !error) || call.hasEnded) return
      call.hasEnded = true
      emit(writeToolResult({ id, result, error }, call.responseId))
      endStep(id, call)
    },
    dropOtherCalls(calls, responseId) {
      const ids = new Set(calls.map(({ id }) => id))
      const droppedCalls = [...openCalls].filter(
        ([id, call]) => call.responseId !== undefined && (call.responseId !== responseId || !ids.has(id)),
      )
      for (const [id, call] of droppedCalls) {
        endStep(id, call)
        openCalls.delete(id)
      }
      return droppedCalls.length === 0
    },
    listPending() {
      const pendingCalls = [...openCalls].filter(
        ([, call]) => !call.hasEnded && !call.isTrace && clientTools.has(call.name),
      )
      return pendingCalls.map(([id]) => id)
    },
    close() {
      for (const [id, call] of openCalls) endStep(id, call)
    },
  }
}

/**
 * Begins a call, and returns its step. A call that the client runs is not a step of the gateway. If a call arrives with its result, its duration is
 * unknown.
 */
function beginCall(
  { id, name, args = {}, result, error }: ToolCallPart,
  { clientTools, emit, steps }: ToolWriterDeps,
  responseId: string | undefined,
): OpenStep | undefined {
  const hasEnded = result !== undefined || error !== undefined
  const step = clientTools.has(name) ? undefined : steps.begin(toolStage, id, hasEnded)
  const parentMessageId = nameCall(id, responseId)
  emit({ type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name, parentMessageId })
  emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(args) })
  emit({ type: EventType.TOOL_CALL_END, toolCallId: id })
  return step
}

/** Returns the event with the result of a call. Files that the tool returned become parts of it. */
export function writeToolResult(
  { id, result, error }: Pick<ToolCallPart, 'id' | 'result' | 'error'>,
  responseId?: string,
): Omit<ToolCallResultEvent, 'timestamp'> {
  const resultText = typeof result === 'string' ? result : JSON.stringify(result as Json)
  const resultParts = readResultParts(result)
  const content = error?.message ?? (resultParts ? writeAguiParts(resultParts) : resultText)
  return {
    type: EventType.TOOL_CALL_RESULT,
    messageId: nameResult(id, responseId),
    toolCallId: id,
    role: 'tool',
    content: content as ToolCallResultEvent['content'],
  }
}
