import type { ToolCallResultEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { Json, NoteBody, NoteNotice, StageNotice, ToolCallPart } from '@postern/core'
import { isJsonObject, readResultParts } from '@postern/core'
import type { AguiUsage, EntryBody, EntryContent, EntryTool } from '@postern/transcript'
import { planActivityTypes, textOfContent, writeAguiParts } from '@postern/transcript'
import type { EmitEvent } from '../render.ts'

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

function failSubagent(
  { id, message, code }: { readonly id: string; readonly message: string; readonly code?: string | undefined },
  { subagents, emit }: OpenNotes,
): void {
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

/** The result of a call, whenever the call began. Files that the tool returned are parts of it. */
export function writeToolResult({
  id,
  result,
  error,
}: Pick<ToolCallPart, 'id' | 'result' | 'error'>): Omit<ToolCallResultEvent, 'timestamp'> {
  const said = typeof result === 'string' ? result : JSON.stringify(result as Json)
  const returned = readResultParts(result)
  const content = error?.message ?? (returned ? writeAguiParts(returned) : said)
  return {
    type: EventType.TOOL_CALL_RESULT,
    messageId: `${id}-result`,
    toolCallId: id,
    role: 'tool',
    content: content as ToolCallResultEvent['content'],
  }
}
