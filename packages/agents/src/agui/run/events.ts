// Reads the events of an AG-UI run: text, tool calls, state changes, interrupts and errors.
import type { Json } from '@postern/message'
import { describeFaults, maxAnswerBytes, parseIfJson, parseJsonText, partialResponseSchema } from '@postern/message'
import type { AgentChunk, StepRecorder } from '@postern/pipeline'
import { readAguiUsage } from '@postern/transcript'
import { z } from 'zod'
import type { WithheldText } from '../speech/model-text.ts'
import { ModelText } from '../speech/model-text.ts'
import { ReasoningHabit } from '../speech/reasoning-habit.ts'
import type { InterruptEvent, ServerInterrupt } from './interrupts/server-interrupts.ts'
import { interruptSchema, joinInterrupts, readInterruptEvent } from './interrupts/server-interrupts.ts'
import { RunState } from './run-state.ts'

interface OpenToolCall {
  name: string
  args: string
  /** The time of the event, ms since 1970 UTC. */
  readonly startedAt: number
}

interface RunRecorder {
  readonly now: () => number
  readonly recorder: StepRecorder | undefined
}

/** The progress of a run: its text, calls, state and interrupts so far. */
export class RunProgress {
  /** The length of the text so far, characters. */
  length = 0
  /** The id of the message that the latest text belongs to. */
  messageId: string | undefined
  /** True if the next text belongs to another message. */
  isNextMessage = false
  /** Parses the text of that message. */
  speech: ModelText | undefined
  /** The text of the server that people do not see. */
  readonly withheld: WithheldText[] = []
  /** The length of `withheld`, characters. */
  withheldLength = 0
  readonly reasoningHabit: ReasoningHabit
  /** The ids of text messages that are not part of the answer. */
  readonly foreign = new Set<string>()
  readonly calls = new Map<string, OpenToolCall>()
  callCount = 0
  readonly state: RunState
  /** The latest new state of the person that the server has sent. */
  personState: Json | undefined
  /** The last answer in a `MESSAGES_SNAPSHOT`. */
  snapshot: { readonly id?: string | undefined; readonly text: string } = { text: '' }
  /** The interrupts that events have reported. */
  readonly interruptEvents: InterruptEvent[] = []
  /** The questions of the server; undefined until the run ends. */
  interrupts: readonly ServerInterrupt[] | undefined

  /** Records calls of tools with their times. */
  readonly recorder: RunRecorder

  constructor(state: Json | undefined, reasoningHabit: ReasoningHabit, recorder: RunRecorder) {
    this.state = new RunState(state)
    this.reasoningHabit = reasoningHabit
    this.recorder = recorder
  }
}

/** The maximum length of an answer, characters. */
const maxText = maxAnswerBytes
/** The maximum number of recorded calls of one answer, and the maximum length of the arguments or the result of one call, characters. */
const maxCalls = 500
const maxCallText = 256 * 1024

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

type Event = z.infer<typeof eventSchema>

/** The readers of the events that make up an answer, by event type. All other events are only for observers. */
const readers: Readonly<Record<string, (event: Event, run: RunProgress) => readonly AgentChunk[]>> = {
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
  STEP_STARTED: showStage,
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
  return Object.hasOwn(readers, type) ? (readers[type]?.(parseResult.data, run) ?? []) : []
}

function parseEvent(data: string): unknown {
  try {
    return parseJsonText(data)
  } catch (cause) {
    throw new Error('Cannot read an AG-UI event: not valid JSON', { cause })
  }
}

function beginText({ messageId, role }: Event, run: RunProgress): readonly AgentChunk[] {
  if (messageId && role && role !== 'assistant') run.foreign.add(messageId)
  return []
}

/** Adds text of a message. An empty line separates two messages of one run. */
function acceptText({ messageId, delta }: Event, run: RunProgress): readonly AgentChunk[] {
  const speakerId = messageId ?? run.messageId
  if (typeof delta !== 'string' || delta === '' || (speakerId && run.foreign.has(speakerId))) return []
  const before = speakerId === run.messageId ? [] : endSpeech(run)
  run.messageId = speakerId
  run.speech ??= new ModelText({ reasoningHabit: run.reasoningHabit })
  return [...before, ...passText(run.speech.add(delta), run)]
}

/** Ends the message that the latest text belongs to. */
export function endSpeech(run: RunProgress): readonly AgentChunk[] {
  const { speech } = run
  if (!speech) return []
  const chunks = passText(speech.end(), run)
  for (const part of speech.withheld) {
    run.withheld.push(part)
    run.withheldLength += part.text.length
  }
  run.speech = undefined
  run.isNextMessage = true
  return chunks
}

/** Reads the answer of a server that does not stream text. */
export function readSnapshot(run: RunProgress): readonly AgentChunk[] {
  run.speech = new ModelText({ reasoningHabit: new ReasoningHabit('first') })
  return [...passText(run.speech.add(run.snapshot.text), run), ...endSpeech(run)]
}

function passText(text: string, run: RunProgress): readonly AgentChunk[] {
  if (text === '') return []
  const isApart = run.length > 0 && run.isNextMessage
  const separatedText = isApart ? `\n\n${text}` : text
  run.isNextMessage = false
  run.length += separatedText.length
  if (run.length > maxText) throw new Error(`The AG-UI server said more than ${maxText} characters`)
  return [separatedText]
}

/** Records text that the server marks as its reasoning. */
function acceptReasoning({ delta }: Event, run: RunProgress): readonly AgentChunk[] {
  if (typeof delta !== 'string' || delta === '') return []
  const last = run.withheld.at(-1)
  if (run.withheldLength + delta.length > maxCallText) return []
  run.withheldLength += delta.length
  if (last?.kind === 'reasoning') run.withheld[run.withheld.length - 1] = { kind: 'reasoning', text: last.text + delta }
  else run.withheld.push({ kind: 'reasoning', text: delta })
  run.reasoningHabit.learn(false)
  return []
}

function beginCall({ toolCallId, toolCallName }: Event, run: RunProgress): readonly AgentChunk[] {
  if (!toolCallId || !toolCallName || run.calls.has(toolCallId) || run.calls.size >= maxCalls) return []
  run.calls.set(toolCallId, { name: toolCallName, args: '', startedAt: run.recorder.now() })
  return []
}

function addArguments({ toolCallId, delta }: Event, run: RunProgress): readonly AgentChunk[] {
  // A chunk without an id continues the last call.
  const call = toolCallId ? run.calls.get(toolCallId) : [...run.calls.values()].at(-1)
  if (!call || typeof delta !== 'string') return []
  call.args += delta
  if (call.args.length > maxCallText) throw new Error('The AG-UI server calls a tool with too large arguments')
  return []
}

function endCall({ toolCallId, content }: Event, run: RunProgress): readonly AgentChunk[] {
  const call = toolCallId ? run.calls.get(toolCallId) : undefined
  if (!call || !toolCallId || run.callCount >= maxCalls) return []
  run.callCount += 1
  run.recorder.recorder?.begin({ kind: 'tool', name: call.name, id: toolCallId, at: call.startedAt }).end()
  const result = typeof content === 'string' ? readJson(content.slice(0, maxCallText)) : content
  return [
    { trace: [{ kind: 'tool_call', id: toolCallId, name: call.name, args: readJson(call.args || '{}'), result }] },
  ]
}

function readJson(text: string): unknown {
  const json = parseIfJson(text)
  return json === undefined ? text : json
}

function acceptState({ snapshot }: Event, run: RunProgress): readonly AgentChunk[] {
  run.state.replace(snapshot ?? undefined)
  return []
}

/** Reads a custom event: an interrupt of LangGraph, or Postern's own `person_state`, which sets the new state of the person. */
function acceptCustom(event: Event, run: RunProgress): readonly AgentChunk[] {
  if (event.name === 'person_state') run.personState = event.value
  const interrupt = readInterruptEvent(event, run.interruptEvents.length)
  if (interrupt) run.interruptEvents.push(interrupt)
  return []
}

/** Applies a JSON Patch (RFC 6902) to the state. @throws Error if it does not fit the state or makes the state too large */
function changeState({ delta }: Event, run: RunProgress): readonly AgentChunk[] {
  run.state.patch(delta)
  return []
}

function acceptSnapshot({ messages }: Event, run: RunProgress): readonly AgentChunk[] {
  const last = messages?.at(-1)
  const isAnswer = last?.role === 'assistant' && typeof last.content === 'string'
  run.snapshot = isAnswer ? { id: last.id ?? undefined, text: last.content as string } : { text: '' }
  return []
}

function showStage({ stepName }: Event): readonly AgentChunk[] {
  const { stage } = partialResponseSchema.shape
  return stepName && stage.safeParse(stepName).success ? [{ status: 'working', stage: stepName }] : []
}

function endRun({ outcome, usage }: Event, run: RunProgress): readonly AgentChunk[] {
  if (outcome?.type === 'cancelled') throw new Error('The AG-UI server canceled the run')
  const interrupts = outcome?.type === 'interrupt' ? (outcome.interrupts ?? []) : []
  run.interrupts = joinInterrupts(interrupts, run.interruptEvents, run.calls)
  return readUsage(usage)
}

/** Fails the run. The server's message goes only to the log, because it may contain private details. */
function failRun({ code, message }: Event): readonly AgentChunk[] {
  throw new Error(`The AG-UI server failed${code ? ` (${code})` : ''}: ${String(message ?? 'no reason').slice(0, 500)}`)
}

function readUsage(usage: Json | null | undefined): readonly AgentChunk[] {
  const read = partialResponseSchema.shape.usage.safeParse(readAguiUsage(usage ?? undefined))
  return read.success && read.data ? [{ usage: read.data }] : []
}
