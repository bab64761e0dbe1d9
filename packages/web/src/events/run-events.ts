// Writes a run as events of AG-UI 1.0.
import type { Event, Interrupt, RunErrorEvent, RunFinishedEvent, RunFinishedOutcome } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import type { NormalizedResponse, Part, TokenUsage } from '@postern/message'
import { sectionOf, sumUsage } from '@postern/message'
import type { NoteNotice, StageNotice } from '@postern/pipeline'
import type { AguiUsage } from '@postern/transcript'
import { groupParts, writeAguiUsage } from '@postern/transcript'
import type { FileAddress, RefusalView } from '../render.ts'
import { readChatText } from '../render.ts'
import type { ChatState } from './chat-state.ts'
import { diffState } from './chat-state.ts'
import type { EmitEvent, TextWriter, Unstamped } from './run-text.ts'
import { createRunTextWriter } from './run-text.ts'
import { createStepWriter } from './steps.ts'
import type { NoteWriter, OpenStep, StageWriter, StepWriter, ToolWriter } from './work-events.ts'
import { createNoteWriter, createStageWriter, createToolWriter } from './work-events.ts'

interface RunWriterOptions {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId?: string | undefined
  readonly agent: string
  readonly now: () => number
  /**
   * The time when the message was admitted, ms. Latencies count from then, as in the history. Default: the start of the
   * run.
   */
  readonly askedAt?: number | undefined
  /** The tools that the client runs itself. */
  readonly clientTools: ReadonlySet<string>
  /** True if the run shows the agent's own calls of tools. */
  readonly showsTrace?: boolean | undefined
  /** True if the run shows the agent's notes meanwhile. */
  readonly showsNotes?: boolean | undefined
  /** Returns the address of stored bytes. */
  readonly fileAddress?: FileAddress
}

export type AnswerDetails = Pick<NormalizedResponse, 'speaker' | 'chat_state' | 'trace' | 'usage'>

/** A writer of a run as events of AG-UI 1.0. It closes everything that it opened, and nothing follows the end. */
export interface RunWriter {
  start(): void
  writeSnapshot(messages: readonly object[]): void
  warn(text: string): void
  /** Writes a piece of the answer, in order. */
  writePiece(parts: readonly Part[], responseId: string): void
  /** Writes the speaker, the chat state, calls of tools and the cost of the next parts. */
  writeDetails(details: AnswerDetails, responseId: string): void
  /** Writes the chat state that the conversation had before the run. */
  writeState(state: ChatState): void
  /** Writes a message of progress, which is not a part of the answer. */
  writeInterim(parts: readonly Part[]): void
  /** Writes the agent's stage, and its notes if the run shows them. */
  writeNote(notice: NoteNotice | StageNotice): void
  /**
   * Writes the parts of the answer that the stream has not shown yet, even of an incomplete answer. Returns true if the client has exactly the
   * messages of the answer. The client cannot take back text that it has received, for example of a failed attempt.
   */
  complete(response: NormalizedResponse): boolean
  finish(ending: RunEnding): void
  fail(message: string, code: string, failure?: RunFailure): void
}

interface RunFailure {
  /** The answer that reports the failure. */
  readonly response?: ResponseFacts | undefined
  /** The refusal that a client may act on. */
  readonly details?: RefusalView | undefined
}

const executionStage = 'execution'

type ResponseFacts = Pick<NormalizedResponse, 'id' | 'created_at' | 'usage'>

interface OpenRun {
  readonly options: RunWriterOptions
  readonly startedAt: number
  readonly emit: EmitEvent
  readonly text: TextWriter
  readonly steps: StepWriter
  /** The writer of tool calls, which is opened with the first call. The writers of stages and notes are opened in the same way. */
  tools: ToolWriter | undefined
  stages: StageWriter | undefined
  notes: NoteWriter | undefined
  execution: OpenStep | undefined
  state: ChatState | undefined
  /** The cost so far. The complete answer states the total. */
  usages: readonly TokenUsage[]
  /** The id of the section of the last text. */
  sectionId: string | undefined
  isOver: boolean
}

export function createRunWriter(options: RunWriterOptions, send: (event: Event) => void): RunWriter {
  const run = openRun(options, send)
  const { emit } = run
  const { threadId, runId } = options
  return {
    start: () => startRun(run),
    writeSnapshot: messages => emit({ type: EventType.MESSAGES_SNAPSHOT, messages } as Unstamped<Event>),
    warn: text => emit({ type: EventType.CUSTOM, name: 'warning', value: text }),
    writePiece(parts, responseId) {
      for (const [index, part] of parts.entries()) {
        // The first text of a piece continues the previous text. Its other texts, and those of another section, are separate blocks.
        if (part.kind === 'text' && (index > 0 || sectionOf(part)?.id !== run.sectionId)) run.text.separate()
        if (part.kind === 'text') run.sectionId = sectionOf(part)?.id
        writePart(part, responseId, run)
      }
    },
    writeDetails: (details, responseId) => writeDetails(details, responseId, run),
    writeState: state => writeState(state, run),
    writeInterim: parts => emit({ type: EventType.CUSTOM, name: 'working', value: readChatText(parts) }),
    writeNote(notice) {
      if (notice.kind === 'stage') stageWriterOf(run).begin(notice)
      else if (notice.body.kind === 'activity') run.stages?.end(notice)
      else if (options.showsNotes) noteWriterOf(run).writeNote(notice)
    },
    complete: response => completeAnswer(response, run),
    finish(ending) {
      const outcome = describeOutcome(ending, run.tools?.listPending() ?? [])
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
  const run: OpenRun = {
    options,
    startedAt: now(),
    emit,
    text,
    steps,
    tools: undefined,
    stages: undefined,
    notes: undefined,
    execution: undefined,
    state: undefined,
    usages: [],
    sectionId: undefined,
    isOver: false,
  }
  return run
}

function toolWriterOf(run: OpenRun): ToolWriter {
  if (run.tools) return run.tools
  const { emit, steps, text, options } = run
  run.tools = createToolWriter({ clientTools: options.clientTools, emit, steps, beforeCall: text.split })
  return run.tools
}

function stageWriterOf(run: OpenRun): StageWriter {
  run.stages ??= createStageWriter(run.steps)
  return run.stages
}

function noteWriterOf(run: OpenRun): NoteWriter {
  const { emit, steps, options } = run
  run.notes ??= createNoteWriter({
    agent: options.agent,
    emit,
    steps,
    callTool: call => toolWriterOf(run).write(call, {}),
  })
  return run.notes
}

function startRun(run: OpenRun): void {
  const { threadId, runId, parentRunId } = run.options
  const parent = parentRunId === undefined ? {} : { parentRunId }
  run.emit({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent })
  run.execution = run.steps.begin(executionStage, runId)
}

function writePart(part: Part, responseId: string, run: OpenRun): void {
  if (part.kind === 'tool_call') toolWriterOf(run).write(part, { responseId })
  else run.text.write(part, responseId)
}

function writeDetails(
  { speaker, chat_state, trace = [], usage }: AnswerDetails,
  responseId: string,
  run: OpenRun,
): void {
  if (usage) run.usages = sumUsage([...run.usages, ...usage])
  if (speaker !== undefined) run.text.setSpeaker(speaker)
  if (run.options.showsTrace) for (const call of trace) toolWriterOf(run).write(call, { responseId, isTrace: true })
  if (chat_state) writeState(chat_state, run)
}

function writeState(nextState: ChatState, run: OpenRun): void {
  const delta = run.state && diffState(run.state, nextState)
  if (!delta) run.emit({ type: EventType.STATE_SNAPSHOT, snapshot: nextState })
  else if (delta.length > 0) run.emit({ type: EventType.STATE_DELTA, delta: [...delta] })
  run.state = nextState
}

function completeAnswer(response: NormalizedResponse, run: OpenRun): boolean {
  const { id, parts, unfinished = [], created_at, chat_metadata, usage, ...details } = response
  const { text } = run
  const calls = [...parts, ...(details.trace ?? [])].filter(part => part.kind === 'tool_call')
  const hasSameCalls = run.tools?.dropOtherCalls(calls, id) ?? true
  writeDetails(details, id, run)
  text.setMetadata(chat_metadata)
  for (const group of [...groupParts(unfinished), ...groupParts(parts)]) {
    const [firstPart] = group
    if (firstPart.kind === 'tool_call') toolWriterOf(run).write(firstPart, { responseId: id })
    else text.complete(group, id)
  }
  endStep(run, { id, created_at, usage })
  return hasSameCalls && text.isExact()
}

/** Ends the step of the run. Its latency and cost are those that the history shows for the message. */
function endStep(run: OpenRun, response?: ResponseFacts): void {
  const { options, text, tools, steps, stages, notes, execution } = run
  if (response) run.usages = response.usage ?? []
  text.endMessage()
  tools?.close()
  notes?.close('The run ended before it answered')
  const message_id = response?.id ?? `${executionStage}-${options.runId}`
  stages?.close(message_id)
  if (!execution) return
  const endedAt = response ? Date.parse(response.created_at) : options.now()
  const latency_ms = endedAt - (options.askedAt ?? run.startedAt)
  steps.end(execution, { latency_ms, message_id, ...describeCost(run.usages) })
  run.execution = undefined
}

function endRun(endEvent: Unstamped<RunFinishedEvent | RunErrorEvent>, run: OpenRun, response?: ResponseFacts): void {
  endStep(run, response)
  run.emit({ ...endEvent, ...describeCost(run.usages) })
  run.isOver = true
}

type RunEnding =
  | { readonly kind: 'success' | 'cancelled' }
  | { readonly kind: 'interrupt'; readonly interrupts: readonly Interrupt[] }

function describeOutcome(ending: RunEnding, pendingToolCallIds: readonly string[]): RunFinishedOutcome {
  if (ending.kind === 'interrupt') return { type: 'interrupt', interrupts: [...ending.interrupts] }
  if (ending.kind === 'cancelled') return { type: 'cancelled' }
  return { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds: [...pendingToolCallIds] }) }
}

/** Returns the cost of a run, if the agent or its model reported it. */
function describeCost(usages: readonly TokenUsage[]): { readonly usage?: AguiUsage[] } {
  const usage = usages.length > 0 ? writeAguiUsage([...usages]) : undefined
  return usage ? { usage } : {}
}
