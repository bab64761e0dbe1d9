// Reads the events of an AG-UI run: text, tool calls, state changes, interrupts and errors.
import type { Json } from '@postern/message'
import { describeFaults, parseJsonText, partialResponseSchema } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'
import { readAguiUsage } from '@postern/transcript'
import { z } from 'zod'
import type { ReasoningHabit } from '../../speech/reasoning-habit.ts'
import type { InterruptEvent, ServerInterrupt } from '../interrupts/server-interrupts.ts'
import { interruptSchema, joinInterrupts, readInterruptEvent } from '../interrupts/server-interrupts.ts'
import type { CallRecorder } from './run-calls.ts'
import { RunCalls } from './run-calls.ts'
import { RunState } from './run-state.ts'
import { RunText } from './run-text.ts'

/** The answer of a server in a `MESSAGES_SNAPSHOT`. */
interface SnapshotAnswer {
  readonly id?: string | undefined
  readonly text: string
}

/** The progress of a run: its text, calls, state and interrupts so far. */
export class RunProgress {
  readonly text: RunText
  readonly calls: RunCalls
  readonly state: RunState
  /** The latest new state of the person that the server has sent. */
  personState: Json | undefined
  /** The last answer in a `MESSAGES_SNAPSHOT`. */
  snapshot: SnapshotAnswer = { text: '' }
  /** The interrupts that events have reported. */
  readonly interruptEvents: InterruptEvent[] = []
  /** The questions of the server; undefined until the run ends. */
  interrupts: readonly ServerInterrupt[] | undefined

  constructor(
    state: Json | undefined,
    textOptions: { readonly reasoningHabit: ReasoningHabit; readonly waitsForEnd?: boolean },
    recording: CallRecorder,
  ) {
    this.text = new RunText(textOptions.reasoningHabit, textOptions)
    this.calls = new RunCalls(recording)
    this.state = new RunState(state)
  }
}

const eventSchema = z.looseObject({
  type: z.string(),
  messageId: z.string().nullish(),
  role: z.string().nullish(),
  delta: z.unknown().optional(),
  toolCallId: z.string().nullish(),
  toolCallName: z.string().nullish(),
  content: z.unknown().optional(),
  snapshot: z.json().nullish(),
  messages: z
    .array(z.looseObject({ id: z.string().nullish(), role: z.string(), content: z.unknown().optional() }))
    .nullish(),
  stepName: z.string().nullish(),
  name: z.string().nullish(),
  value: z.json().optional(),
  rawEvent: z.unknown().optional(),
  outcome: z.looseObject({ type: z.string(), interrupts: z.array(interruptSchema).nullish() }).nullish(),
  usage: z.json().nullish(),
  code: z.string().nullish(),
})

type AguiEvent = z.infer<typeof eventSchema>

/** The handlers of the events that make up an answer, by event type. All other events are only for observers. */
const eventHandlers: Readonly<Record<string, (event: AguiEvent, run: RunProgress) => readonly AgentChunk[]>> = {
  TEXT_MESSAGE_START: beginText,
  TEXT_MESSAGE_CONTENT: acceptText,
  TEXT_MESSAGE_CHUNK: (event, run) => [...beginText(event, run), ...acceptText(event, run)],
  REASONING_MESSAGE_CONTENT: acceptReasoning,
  REASONING_MESSAGE_CHUNK: acceptReasoning,
  THINKING_TEXT_MESSAGE_CONTENT: acceptReasoning,
  TOOL_CALL_START: beginCall,
  TOOL_CALL_ARGS: addArguments,
  TOOL_CALL_CHUNK: (event, run) => [...beginCall(event, run), ...addArguments(event, run)],
  TOOL_CALL_RESULT: endCall,
  STATE_SNAPSHOT: acceptState,
  STATE_DELTA: changeState,
  MESSAGES_SNAPSHOT: acceptSnapshot,
  STEP_STARTED: showStep,
  CUSTOM: acceptCustom,
  RUN_FINISHED: endRun,
  RUN_ERROR: failRun,
}

/** Reads one event of a run and returns what it adds to the answer. @throws Error if it is no event, or if it reports that the run failed */
export function readEvent(data: string, run: RunProgress): readonly AgentChunk[] {
  const event = parseEvent(data)
  const parseResult = eventSchema.safeParse(event)
  if (!parseResult.success) throw new Error(`Cannot read an AG-UI event: ${describeFaults(parseResult.error, event)}`)
  const { type } = parseResult.data
  return Object.hasOwn(eventHandlers, type) ? (eventHandlers[type]?.(parseResult.data, run) ?? []) : []
}

function parseEvent(data: string): unknown {
  try {
    return parseJsonText(data)
  } catch (cause) {
    throw new Error('Cannot read an AG-UI event: not valid JSON', { cause })
  }
}

function beginText({ messageId, role }: AguiEvent, { text }: RunProgress): readonly AgentChunk[] {
  if (messageId && role && role !== 'assistant') text.ignoreMessage(messageId)
  return []
}

function acceptText({ messageId, delta }: AguiEvent, { text }: RunProgress): readonly AgentChunk[] {
  return typeof delta === 'string' ? text.add(delta, messageId ?? undefined) : []
}

function acceptReasoning({ delta }: AguiEvent, { text }: RunProgress): readonly AgentChunk[] {
  if (typeof delta === 'string') text.addReasoning(delta)
  return []
}

function beginCall({ toolCallId, toolCallName }: AguiEvent, { calls }: RunProgress): readonly AgentChunk[] {
  if (toolCallId && toolCallName) calls.begin(toolCallId, toolCallName)
  return []
}

function addArguments({ toolCallId, delta }: AguiEvent, { calls }: RunProgress): readonly AgentChunk[] {
  if (typeof delta === 'string') calls.addArguments(toolCallId ?? undefined, delta)
  return []
}

function endCall({ toolCallId, content }: AguiEvent, { calls }: RunProgress): readonly AgentChunk[] {
  return toolCallId ? calls.end(toolCallId, content) : []
}

function acceptState({ snapshot }: AguiEvent, run: RunProgress): readonly AgentChunk[] {
  run.state.replace(snapshot ?? undefined)
  return []
}

/** Reads a custom event: an interrupt of LangGraph, or Postern's own `person_state`, which sets the new state of the person. */
function acceptCustom(event: AguiEvent, run: RunProgress): readonly AgentChunk[] {
  if (event.name === 'person_state') run.personState = event.value
  const interrupt = readInterruptEvent(event, run.interruptEvents.length)
  if (interrupt) run.interruptEvents.push(interrupt)
  return []
}

/** Applies a JSON Patch (RFC 6902) to the state. @throws Error if it does not fit the state or makes the state too large */
function changeState({ delta }: AguiEvent, run: RunProgress): readonly AgentChunk[] {
  run.state.patch(delta)
  return []
}

function acceptSnapshot({ messages }: AguiEvent, run: RunProgress): readonly AgentChunk[] {
  const lastMessage = messages?.at(-1)
  const isAnswer = lastMessage?.role === 'assistant' && typeof lastMessage.content === 'string'
  run.snapshot = isAnswer ? { id: lastMessage.id ?? undefined, text: lastMessage.content as string } : { text: '' }
  return []
}

function showStep({ stepName }: AguiEvent): readonly AgentChunk[] {
  const { stage } = partialResponseSchema.shape
  return stepName && stage.safeParse(stepName).success ? [{ status: 'working', stage: stepName }] : []
}

function endRun({ outcome, usage }: AguiEvent, run: RunProgress): readonly AgentChunk[] {
  if (outcome?.type === 'cancelled') throw new Error('The AG-UI server canceled the run')
  const interrupts = outcome?.type === 'interrupt' ? (outcome.interrupts ?? []) : []
  run.interrupts = joinInterrupts(interrupts, run.interruptEvents, run.calls.byId)
  return readUsage(usage)
}

/** Fails the run. The server's message goes only to the log, because it may contain private details. */
function failRun({ code, message }: AguiEvent): readonly AgentChunk[] {
  throw new Error(`The AG-UI server failed${code ? ` (${code})` : ''}: ${String(message ?? 'no reason').slice(0, 500)}`)
}

function readUsage(usage: Json | null | undefined): readonly AgentChunk[] {
  const parseResult = partialResponseSchema.shape.usage.safeParse(readAguiUsage(usage ?? undefined))
  return parseResult.success && parseResult.data ? [{ usage: parseResult.data }] : []
}
