import type { Event, RunErrorEvent, RunFinishedEvent, TextMessageStartEvent } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import type { NormalizedResponse, NoteNotice, Part, StageNotice, TokenUsage, ToolCallPart } from '@postern/core'
import { plainTextOf, sumUsage } from '@postern/core'
import type { ShownRefusal } from '../parts/refusal.ts'
import type { FileAddress, ShownFile } from '../parts/write-block.ts'
import { blockBreak, listFiles, writeBlock, writeBlocks } from '../parts/write-block.ts'
import { writeToolResult } from '../parts/write-tool-result.ts'
import type { ChatState } from './chat-state.ts'
import { diffState } from './chat-state.ts'
import type { EmitEvent, Unstamped } from './emit.ts'
import { createNoteWriter } from './note-events.ts'
import type { RunEnding } from './run-ending.ts'
import { writeCost, writeOutcome } from './run-ending.ts'
import type { OpenStep } from './run-steps.ts'
import { createStageWriter, createStepWriter } from './run-steps.ts'

interface RunWriterOptions {
  readonly threadId: string
  readonly runId: string
  readonly parentRunId?: string | undefined
  readonly agent: string
  readonly now: () => number
  /** When what is answered was taken, ms: latencies count from there, as they do in the history. Absent: from the run's start. */
  readonly askedAt?: number | undefined
  /** Tools that the client runs itself. */
  readonly clientTools: ReadonlySet<string>
  /** Whether what is done behind the words is told, too. */
  readonly showsTrace?: boolean | undefined
  /** Whether what the agent notes meanwhile is told, too. */
  readonly showsNotes?: boolean | undefined
  /** Where stored bytes are read. */
  readonly fileAddress?: FileAddress
}

export type Behind = Pick<NormalizedResponse, 'speaker' | 'chat_state' | 'trace' | 'usage'>

/** Tells a run in the grammar of AG-UI 1.0: what is opened is closed, and nothing comes behind the end. */
export interface RunWriter {
  start(): void
  snapshot(messages: readonly object[]): void
  warn(text: string): void
  /** A piece of the answer, in order; text of one message runs on. */
  piece(parts: readonly Part[], response: string): void
  /** Who speaks, what a chat may show, what is done behind the words, and what that cost. */
  behind(behind: Behind): void
  /** Said meanwhile; no part of the answer. */
  interim(parts: readonly Part[]): void
  /** The stage it is in, and what it has noted, where traces are shown. */
  note(notice: NoteNotice | StageNotice): void
  /** What the answer has beyond what was told already. */
  complete(response: NormalizedResponse): void
  finish(ending: RunEnding): void
  fail(message: string, code: string, failed?: FailedRun): void
}

interface FailedRun {
  /** The answer that says so. */
  readonly response?: Answered | undefined
  /** What a client may act on. */
  readonly details?: ShownRefusal | undefined
}

const stage = 'execution'
const toolStage = 'tool_execution'

interface BegunCall {
  readonly name: string
  hasEnded: boolean
  /** Done behind the words: nobody else's to run. */
  readonly isBehind?: boolean
  /** The step of its run, while that is open. */
  step?: OpenStep | undefined
}

type Answered = Pick<NormalizedResponse, 'id' | 'created_at' | 'usage'>

export function createRunWriter(place: RunWriterOptions, send: (event: Event) => void): RunWriter {
  const { threadId, runId, now } = place
  const startedAt = now()
  /** Calls by their ids, and whether they have ended. */
  const begun = new Map<string, BegunCall>()
  /** The text of all messages, as one. */
  let told = ''
  /** The text that was told last, where more of its kind runs on. */
  let last: { readonly mime: string; readonly isBegun: boolean } | undefined
  let open: string | undefined
  /** Those that the text of the open message has links to. */
  let files: readonly ShownFile[] = []
  /** What the agent has a chat keep with its answer. */
  let kept: NormalizedResponse['chat_metadata']
  let messageCount = 0
  let execution: OpenStep | undefined
  let isOver = false
  let speaker = place.agent
  let state: ChatState | undefined
  /** As far as it was told; an answer tells all of it. */
  let spent: readonly TokenUsage[] = []

  const emit: EmitEvent = event => {
    if (!isOver) send({ ...event, timestamp: Math.trunc(now()) } as Event)
  }
  const steps = createStepWriter(runId, now, emit)
  const stages = createStageWriter(steps)
  const notes = createNoteWriter({ agent: place.agent, emit, steps, callTool })

  /** To the client, who runs it itself. */
  const isLeft = ({ name, hasEnded, isBehind }: BegunCall) => !hasEnded && !isBehind && place.clientTools.has(name)

  function endMessage(): void {
    const metadata = { ...kept, ...(files.length > 0 && { files }) }
    const shown = Object.keys(metadata).length > 0 ? { metadata } : {}
    if (open !== undefined) emit({ type: EventType.TEXT_MESSAGE_END, messageId: open, ...shown })
    open = undefined
    files = []
  }

  /** Begins with a break where something stands before it in the same message. */
  function sayBlock(block: string, response: string): void {
    if (block === '') return
    if (told !== '') told += blockBreak
    say(open === undefined ? block : `${blockBreak}${block}`, response)
    told += block
  }

  function sayOn(text: string, response: string): void {
    say(text, response)
    told += text
  }

  function say(delta: string, response: string): void {
    if (delta === '') return
    if (open === undefined) {
      messageCount += 1
      open = messageCount === 1 ? response : `${response}-${messageCount}`
      const start: Unstamped<TextMessageStartEvent> = {
        type: EventType.TEXT_MESSAGE_START,
        messageId: open,
        role: 'assistant',
        name: speaker,
      }
      emit(start)
    }
    emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: open, delta })
  }

  function showState(next: ChatState): void {
    const delta = state && diffState(state, next)
    if (!delta) emit({ type: EventType.STATE_SNAPSHOT, snapshot: next })
    else if (delta.length > 0) emit({ type: EventType.STATE_DELTA, delta: [...delta] })
    state = next
  }

  function tellBehind({ speaker: who = speaker, chat_state, trace = [], usage }: Behind): void {
    if (usage) spent = sumUsage([...spent, ...usage])
    if (who !== speaker) endMessage()
    speaker = who
    if (place.showsTrace) for (const call of trace) callTool(call, true)
    if (chat_state) showState(chat_state)
  }

  function callTool({ id, name, args = {}, result, error, continues }: ToolCallPart, isBehind = false): void {
    // An earlier run has told its beginning.
    if (continues !== undefined && !begun.has(id)) begun.set(id, { name, hasEnded: false })
    if (!begun.has(id)) {
      last = undefined
      endMessage()
      const step = beginToolStep(id, name, result !== undefined || error !== undefined)
      emit({ type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name })
      emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(args) })
      emit({ type: EventType.TOOL_CALL_END, toolCallId: id })
      begun.set(id, { name, hasEnded: false, step, isBehind })
    }
    const call = begun.get(id)
    if ((result === undefined && !error) || !call || call.hasEnded) return
    call.hasEnded = true
    emit(writeToolResult({ id, result, error }))
    endToolStep(id, call)
  }

  /** What the client runs is no step of ours; of one that is told when it is over nobody knows how long it took. */
  function beginToolStep(id: string, name: string, isOver: boolean): BegunCall['step'] {
    return place.clientTools.has(name) ? undefined : steps.begin(toolStage, id, isOver)
  }

  function endToolStep(id: string, call: BegunCall): void {
    if (call.step) steps.end(call.step, { message_id: id, tool_name: call.name })
    call.step = undefined
  }

  /** As answers are put together of their pieces: text of one kind runs on. */
  function tell(part: Part, response: string): void {
    if (part.kind === 'tool_call') callTool(part)
    else tellBlock(part, writeBlock(part, place.fileAddress), response)
  }

  function tellBlock(part: Part, block: string, response: string): void {
    const runsOn = part.kind === 'text' && part.mime === last?.mime && last.isBegun
    if (runsOn) sayOn(block, response)
    else sayBlock(block, response)
    files = [...files, ...listFiles([part], place.fileAddress)]
    last = part.kind === 'text' ? { mime: part.mime, isBegun: runsOn || block !== '' } : undefined
  }

  /** The rest of it; of an answer that has become another one, the whole as a message of its own. */
  function tellRest(parts: readonly Part[], response: string): void {
    const whole = writeBlocks(parts, place.fileAddress)
    if (whole === told) return
    files = listFiles(parts, place.fileAddress)
    if (whole.startsWith(told)) {
      const rest = whole.slice(told.length)
      const isBegun = open !== undefined
      say(isBegun ? rest : rest.replace(/^\n+/, ''), response)
    } else {
      endMessage()
      say(whole, response)
    }
    told = whole
  }

  /** What is said of it is what the history says of its message. */
  function endStep(response?: Answered): void {
    if (response) spent = response.usage ?? []
    endMessage()
    for (const [id, call] of begun) endToolStep(id, call)
    notes.close('The run ended before it answered')
    const message_id = response?.id ?? `${stage}-${runId}`
    stages.close(message_id)
    if (!execution) return
    const endedAt = response ? Date.parse(response.created_at) : now()
    const latency_ms = endedAt - (place.askedAt ?? startedAt)
    steps.end(execution, { latency_ms, message_id, ...writeCost(spent) })
    execution = undefined
  }

  function end(last: Unstamped<RunFinishedEvent | RunErrorEvent>, response?: Answered): void {
    endStep(response)
    emit({ ...last, ...writeCost(spent) })
    isOver = true
  }

  return {
    start() {
      const parent = place.parentRunId === undefined ? {} : { parentRunId: place.parentRunId }
      emit({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent })
      execution = steps.begin(stage, runId)
    },
    snapshot: messages => emit({ type: EventType.MESSAGES_SNAPSHOT, messages } as Unstamped<Event>),
    warn: text => emit({ type: EventType.CUSTOM, name: 'warning', value: text }),
    piece(parts, response) {
      for (const part of parts) tell(part, response)
    },
    behind: tellBehind,
    note: notice => {
      if (notice.kind === 'stage') stages.begin(notice)
      else if (notice.body.kind === 'activity') stages.end(notice)
      else if (place.showsNotes) notes.note(notice)
    },
    interim: parts => emit({ type: EventType.CUSTOM, name: 'working', value: plainTextOf(parts) }),
    complete({ id, parts, created_at, chat_metadata, usage, ...behind }) {
      tellBehind(behind)
      kept = chat_metadata
      const isUntold = told === '' && begun.size === 0
      for (const part of parts) {
        // Whole parts: what stands apart in it runs not on.
        if (isUntold) last = undefined
        if (isUntold || part.kind === 'tool_call') tell(part, id)
      }
      if (!isUntold) tellRest(parts, id)
      endStep({ id, created_at, usage })
    },
    finish(ending) {
      const pendingToolCallIds = [...begun].filter(([, call]) => isLeft(call)).map(([id]) => id)
      end({ type: EventType.RUN_FINISHED, threadId, runId, outcome: writeOutcome(ending, pendingToolCallIds) })
    },
    fail: (message, code, { response, details } = {}) =>
      end({ type: EventType.RUN_ERROR, message, code, ...(details && { metadata: { ...details } }) }, response),
  }
}
