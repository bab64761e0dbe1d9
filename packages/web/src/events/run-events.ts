import type { Event, Interrupt, RunErrorEvent, RunFinishedEvent, RunFinishedOutcome } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import type { NormalizedResponse, NoteNotice, Part, StageNotice, TokenUsage } from '@postern/core'
import { plainTextOf, sumUsage } from '@postern/core'
import { toSseJson } from '@postern/http'
import type { AguiUsage } from '@postern/transcript'
import { writeAguiUsage } from '@postern/transcript'
import type { EmitEvent, FileAddress, ShownRefusal, TextWriter, Unstamped } from '../render.ts'
import { createRunTextWriter } from '../render.ts'
import type { NoteWriter, OpenStep, StageWriter, StepWriter, ToolWriter } from './work-events.ts'
import { createNoteWriter, createStageWriter, createToolWriter } from './work-events.ts'

interface RunWriterOptions {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId?: string | undefined
  readonly agent: string
  readonly now: () => number
  /** When the message was admitted, ms: latencies count from then, as in the history. Default: the start of the run. */
  readonly askedAt?: number | undefined
  /** Tools that the client runs itself. */
  readonly clientTools: ReadonlySet<string>
  /** Shows the agent's own calls of tools. */
  readonly showsTrace?: boolean | undefined
  /** Shows what the agent notes meanwhile. */
  readonly showsNotes?: boolean | undefined
  /** Where stored bytes are read. */
  readonly fileAddress?: FileAddress
}

export type Behind = Pick<NormalizedResponse, 'speaker' | 'chat_state' | 'trace' | 'usage'>

/** Writes a run as events of AG-UI 1.0. It closes everything that it opened, and nothing follows the end. */
export interface RunWriter {
  start(): void
  snapshot(messages: readonly object[]): void
  warn(text: string): void
  /** A piece of the answer, in order. */
  piece(parts: readonly Part[], response: string): void
  /** Speaker, chat state, calls of tools and cost of what follows. */
  behind(behind: Behind): void
  /** A message of progress, which is no part of the answer. */
  interim(parts: readonly Part[]): void
  /** The agent's stage, and its notes if the run shows them. */
  note(notice: NoteNotice | StageNotice): void
  /** Writes what the stream has not yet shown of the answer. */
  complete(response: NormalizedResponse): void
  finish(ending: RunEnding): void
  fail(message: string, code: string, failed?: FailedRun): void
}

interface FailedRun {
  /** The answer that reports the failure. */
  readonly response?: Answered | undefined
  /** What a client may act on. */
  readonly details?: ShownRefusal | undefined
}

const stage = 'execution'

type Answered = Pick<NormalizedResponse, 'id' | 'created_at' | 'usage'>

interface OpenRun {
  readonly options: RunWriterOptions
  readonly startedAt: number
  readonly emit: EmitEvent
  readonly text: TextWriter
  readonly steps: StepWriter
  /** Undefined until the agent calls a tool, names a stage or notes something. */
  tools: ToolWriter | undefined
  stages: StageWriter | undefined
  notes: NoteWriter | undefined
  execution: OpenStep | undefined
  state: ChatState | undefined
  /** The cost so far; the answer states all of it. */
  spent: readonly TokenUsage[]
  isOver: boolean
}

export function createRunWriter(options: RunWriterOptions, send: (event: Event) => void): RunWriter {
  const run = openRun(options, send)
  const { emit } = run
  const { threadId, runId } = options
  return {
    start: () => startRun(run),
    snapshot: messages => emit({ type: EventType.MESSAGES_SNAPSHOT, messages } as Unstamped<Event>),
    warn: text => emit({ type: EventType.CUSTOM, name: 'warning', value: text }),
    piece(parts, response) {
      for (const part of parts) writePart(part, response, run)
    },
    behind: behind => writeBehind(behind, run),
    interim: parts => emit({ type: EventType.CUSTOM, name: 'working', value: plainTextOf(parts) }),
    note(notice) {
      if (notice.kind === 'stage') stagesOf(run).begin(notice)
      else if (notice.body.kind === 'activity') run.stages?.end(notice)
      else if (options.showsNotes) notesOf(run).note(notice)
    },
    complete: response => completeAnswer(response, run),
    finish(ending) {
      const outcome = writeOutcome(ending, run.tools?.listPending() ?? [])
      endRun({ type: EventType.RUN_FINISHED, threadId, runId, outcome }, run)
    },
    fail(message, code, { response, details } = {}) {
      const metadata = details && { metadata: { ...details } }
      endRun({ type: EventType.RUN_ERROR, message, code, ...metadata }, run, response)
    },
  }
}

function openRun(options: RunWriterOptions, send: (event: Event) => void): OpenRun {
  const { agent, runId, now, fileAddress } = options
  const emit: EmitEvent = event => {
    if (!run.isOver) send({ ...event, timestamp: Math.trunc(now()) } as Event)
  }
  const steps = createStepWriter(runId, now, emit)
  const text = createRunTextWriter({ emit, speaker: agent, fileAddress })
  const writers = { tools: undefined, stages: undefined, notes: undefined }
  const state = { execution: undefined, state: undefined, spent: [], isOver: false }
  const run: OpenRun = { options, startedAt: now(), emit, text, steps, ...writers, ...state }
  return run
}

function toolsOf(run: OpenRun): ToolWriter {
  if (run.tools) return run.tools
  const { emit, steps, text, options } = run
  const beforeCall = () => {
    text.separate()
    text.endMessage()
  }
  run.tools = createToolWriter({ clientTools: options.clientTools, emit, steps, beforeCall })
  return run.tools
}

function stagesOf(run: OpenRun): StageWriter {
  run.stages ??= createStageWriter(run.steps)
  return run.stages
}

function notesOf(run: OpenRun): NoteWriter {
  const { emit, steps, options } = run
  run.notes ??= createNoteWriter({ agent: options.agent, emit, steps, callTool: call => toolsOf(run).write(call) })
  return run.notes
}

function createStepWriter(runId: string, now: () => number, emit: EmitEvent): StepWriter {
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

function startRun(run: OpenRun): void {
  const { threadId, runId, parentRunId } = run.options
  const parent = parentRunId === undefined ? {} : { parentRunId }
  run.emit({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent })
  run.execution = run.steps.begin(stage, runId)
}

function writePart(part: Part, response: string, run: OpenRun): void {
  if (part.kind === 'tool_call') toolsOf(run).write(part)
  else run.text.write(part, response)
}

function writeBehind({ speaker, chat_state, trace = [], usage }: Behind, run: OpenRun): void {
  if (usage) run.spent = sumUsage([...run.spent, ...usage])
  if (speaker !== undefined) run.text.speakAs(speaker)
  if (run.options.showsTrace) for (const call of trace) toolsOf(run).write(call, true)
  if (chat_state) writeState(chat_state, run)
}

function writeState(next: ChatState, run: OpenRun): void {
  const delta = run.state && diffState(run.state, next)
  if (!delta) run.emit({ type: EventType.STATE_SNAPSHOT, snapshot: next })
  else if (delta.length > 0) run.emit({ type: EventType.STATE_DELTA, delta: [...delta] })
  run.state = next
}

function completeAnswer(response: NormalizedResponse, run: OpenRun): void {
  const { id, parts, created_at, chat_metadata, usage, ...behind } = response
  const { text } = run
  writeBehind(behind, run)
  text.keep(chat_metadata)
  const isUnseen = !text.hasText() && !run.tools?.hasCalls()
  for (const part of parts) {
    // Parts of a complete answer are separate blocks.
    if (isUnseen) text.separate()
    if (isUnseen || part.kind === 'tool_call') writePart(part, id, run)
  }
  if (!isUnseen) text.complete(parts, id)
  endStep(run, { id, created_at, usage })
}

/** Latency and cost are those that the history shows for the message. */
function endStep(run: OpenRun, response?: Answered): void {
  const { options, text, tools, steps, stages, notes, execution } = run
  if (response) run.spent = response.usage ?? []
  text.endMessage()
  tools?.close()
  notes?.close('The run ended before it answered')
  const message_id = response?.id ?? `${stage}-${options.runId}`
  stages?.close(message_id)
  if (!execution) return
  const endedAt = response ? Date.parse(response.created_at) : options.now()
  const latency_ms = endedAt - (options.askedAt ?? run.startedAt)
  steps.end(execution, { latency_ms, message_id, ...writeCost(run.spent) })
  run.execution = undefined
}

function endRun(last: Unstamped<RunFinishedEvent | RunErrorEvent>, run: OpenRun, response?: Answered): void {
  endStep(run, response)
  run.emit({ ...last, ...writeCost(run.spent) })
  run.isOver = true
}

type RunEnding =
  | { readonly kind: 'success' | 'cancelled' }
  | { readonly kind: 'interrupt'; readonly interrupts: readonly Interrupt[] }

function writeOutcome(ending: RunEnding, pendingToolCallIds: readonly string[]): RunFinishedOutcome {
  if (ending.kind === 'interrupt') return { type: 'interrupt', interrupts: [...ending.interrupts] }
  if (ending.kind === 'cancelled') return { type: 'cancelled' }
  return { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds: [...pendingToolCallIds] }) }
}

/** What a run cost, if the agent or its model said so. */
function writeCost(spent: readonly TokenUsage[]): { readonly usage?: AguiUsage[] } {
  const usage = spent.length > 0 ? writeAguiUsage([...spent]) : undefined
  return usage ? { usage } : {}
}

export interface EventSink {
  send(event: Event): void
  beat(): void
  /** True when so much waits that the rest should come as one piece at the end. */
  isFull(): boolean
  /** Ends the stream once the client has read everything. Until then the client counts as connected. */
  close(): void
}

/** Bytes that may wait for a slow client, beside its first events and the largest event. Beyond that the stream ends. */
const maxWaiting = 4 * 1024 * 1024
const atOnce = 64 * 1024

/**
 * One JSON event a `data` line, LF only (AG-UI, transport). `open` runs when a reader comes. It returns what to call when the reader has
 * left or has read everything, because what waits for a reader takes memory.
 */
export function streamEvents(open: (sink: EventSink) => () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave: (() => void) | undefined
  let isOver = false
  let endWhenTaken: (() => void) | undefined
  let allowed = 0
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => {
          if (isOver || endWhenTaken) return
          const bytes = encoder.encode(text)
          controller.enqueue(bytes)
          // A long conversation is one event and may come twice, so a client that has just come is not slow.
          allowed = leave ? Math.max(allowed, bytes.byteLength) : allowed + bytes.byteLength
          if ((controller.desiredSize ?? 0) > -maxWaiting - allowed) return
          isOver = true
          controller.error(new Error('the client reads too slowly'))
          leave?.()
        }
        leave = open({
          send: event => write(`data: ${toSseJson(event)}\n\n`),
          beat: () => write(':\n\n'),
          isFull: () => (controller.desiredSize ?? 0) < -maxWaiting / 4,
          close() {
            endWhenTaken ??= () => {
              if (isOver || (controller.desiredSize ?? 0) < atOnce) return
              isOver = true
              controller.close()
              leave?.()
            }
            endWhenTaken()
          },
        })
        if (isOver) leave()
      },
      pull: () => endWhenTaken?.(),
      cancel() {
        isOver = true
        leave?.()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: atOnce }),
  )
}

/** What a chat shows of an agent beside its text. */
export type ChatState = NonNullable<NormalizedResponse['chat_state']>

/** RFC 6902 */
type StateChange =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: ChatState[string] }
  | { readonly op: 'remove'; readonly path: string }

/** The changes that turn `before` into `after`, member by member. Empty when nothing changed. */
export function diffState(before: ChatState, after: ChatState): readonly StateChange[] {
  const gone = Object.keys(before).filter(name => !Object.hasOwn(after, name))
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value),
  )
  return [
    ...gone.map(name => ({ op: 'remove', path: pointTo(name) }) as const),
    ...changed.map(([name, value]) => {
      return { op: Object.hasOwn(before, name) ? 'replace' : 'add', path: pointTo(name), value } as const
    }),
  ]
}

/** RFC 6901 §3 */
function pointTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
