import { createRequire } from 'node:module'
import type { AgentChunk, Json } from '@postern/core'
import { lazy, parseIfJson, parseJsonText, partialResponseSchema } from '@postern/core'
import { readAguiUsage } from '@postern/transcript'
import { z } from 'zod'

const require = createRequire(import.meta.url)
const patches = lazy(() => require('rfc6902') as typeof import('rfc6902'))

interface BegunCall {
  name: string
  args: string
}

/** What a run has said so far. */
export class RunProgress {
  /** Characters of text. */
  length = 0
  /** The text message that the last words were of. */
  speaking: string | undefined
  /** Text messages that are nobody's answer. */
  readonly foreign = new Set<string>()
  readonly calls = new Map<string, BegunCall>()
  callCount = 0
  state: Json | undefined
  /** Text of the last answer in a snapshot of the messages. */
  snapshot = ''
  /** What the server waits for, by its own word; undefined until the run ends. */
  interrupts: readonly Interrupt[] | undefined

  constructor(state: Json | undefined) {
    this.state = state
  }
}

/** Characters of an answer at most. */
const maxText = 200_000
/** Calls that are kept of one answer, and characters of the arguments or the result of one. */
const maxCalls = 500
const maxCallText = 256 * 1024

const interruptSchema = z.looseObject({
  id: z.string(),
  message: z.string().optional(),
  reason: z.string().optional(),
})

type Interrupt = z.infer<typeof interruptSchema>

const eventSchema = z.looseObject({
  type: z.string(),
  messageId: z.string().nullish(),
  role: z.string().nullish(),
  delta: z.unknown().optional(),
  toolCallId: z.string().nullish(),
  toolCallName: z.string().nullish(),
  content: z.unknown().optional(),
  snapshot: z.json().nullish(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown().optional() })).nullish(),
  stepName: z.string().nullish(),
  outcome: z.looseObject({ type: z.string(), interrupts: z.array(interruptSchema).nullish() }).nullish(),
  usage: z.json().nullish(),
  code: z.string().nullish(),
})

type Event = z.infer<typeof eventSchema>

/** Events that an answer is made of; all others are for those who watch. */
const readers: Readonly<Record<string, (event: Event, run: RunProgress) => readonly AgentChunk[]>> = {
  TEXT_MESSAGE_START: beginText,
  TEXT_MESSAGE_CONTENT: hearText,
  TEXT_MESSAGE_CHUNK: (event, run) => [...beginText(event, run), ...hearText(event, run)],
  TOOL_CALL_START: beginCall,
  TOOL_CALL_ARGS: addArguments,
  TOOL_CALL_CHUNK: (event, run) => [...beginCall(event, run), ...addArguments(event, run)],
  TOOL_CALL_RESULT: endCall,
  STATE_SNAPSHOT: keepState,
  STATE_DELTA: changeState,
  MESSAGES_SNAPSHOT: keepSnapshot,
  STEP_STARTED: showStage,
  RUN_FINISHED: endRun,
  RUN_ERROR: failRun,
}

/** What one event adds to the answer. @throws Error for what is no event, and for a run that failed */
export function readEvent(data: string, run: RunProgress): readonly AgentChunk[] {
  const parsed = eventSchema.safeParse(parseEvent(data))
  if (!parsed.success) {
    throw new Error(`Cannot read an AG-UI event: ${parsed.error.issues[0]?.path.join('.') || 'it'} is not valid`)
  }
  const { type } = parsed.data
  return Object.hasOwn(readers, type) ? (readers[type]?.(parsed.data, run) ?? []) : []
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

/** Two messages of one run stand apart. */
function hearText({ messageId, delta }: Event, run: RunProgress): readonly AgentChunk[] {
  const speaking = messageId ?? run.speaking
  if (typeof delta !== 'string' || delta === '' || (speaking && run.foreign.has(speaking))) return []
  const isNext = run.length > 0 && speaking !== run.speaking
  const words = isNext ? `\n\n${delta}` : delta
  run.speaking = speaking
  run.length += words.length
  if (run.length > maxText) throw new Error(`The AG-UI server said more than ${maxText} characters`)
  return [words]
}

function beginCall({ toolCallId, toolCallName }: Event, run: RunProgress): readonly AgentChunk[] {
  if (!toolCallId || !toolCallName || run.calls.has(toolCallId) || run.calls.size >= maxCalls) return []
  run.calls.set(toolCallId, { name: toolCallName, args: '' })
  return []
}

function addArguments({ toolCallId, delta }: Event, run: RunProgress): readonly AgentChunk[] {
  // A chunk without an id goes on with the last call.
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
  const result = typeof content === 'string' ? readJson(content.slice(0, maxCallText)) : content
  return [
    { trace: [{ kind: 'tool_call', id: toolCallId, name: call.name, args: readJson(call.args || '{}'), result }] },
  ]
}

function readJson(text: string): unknown {
  const json = parseIfJson(text)
  return json === undefined ? text : json
}

function keepState({ snapshot }: Event, run: RunProgress): readonly AgentChunk[] {
  run.state = snapshot ?? undefined
  return []
}

/** No part of a pointer may lead to the prototype of all objects. */
const pointerSchema = z
  .string()
  .refine(pointer => !pointer.split('/').some(name => ['__proto__', 'constructor', 'prototype'].includes(name)))
const operationSchema = z.looseObject({ op: z.string(), path: pointerSchema, from: pointerSchema.optional() })

/** A JSON Patch (RFC 6902). @throws Error for one that does not fit the state */
function changeState({ delta }: Event, run: RunProgress): readonly AgentChunk[] {
  const holder = { state: structuredClone(run.state ?? {}) }
  const operations = z.array(operationSchema).safeParse(delta)
  if (!operations.success) throw new Error('Cannot read an AG-UI event: a state delta is no JSON Patch')
  const inside = operations.data.map(({ from, path, ...operation }) => ({
    ...operation,
    path: `/state${path}`,
    ...(from !== undefined && { from: `/state${from}` }),
  }))
  const { applyPatch } = patches()
  const fault = applyPatch(holder, inside as Parameters<typeof applyPatch>[1]).find(Boolean)
  if (fault) throw new Error(`Cannot apply the state delta of the AG-UI server: ${fault.name}`)
  run.state = holder.state
  return []
}

function keepSnapshot({ messages }: Event, run: RunProgress): readonly AgentChunk[] {
  const last = messages?.at(-1)
  run.snapshot = last?.role === 'assistant' && typeof last.content === 'string' ? last.content : ''
  return []
}

function showStage({ stepName }: Event): readonly AgentChunk[] {
  const { stage } = partialResponseSchema.shape
  return stepName && stage.safeParse(stepName).success ? [{ status: 'working', stage: stepName }] : []
}

function endRun({ outcome, usage }: Event, run: RunProgress): readonly AgentChunk[] {
  if (outcome?.type === 'cancelled') throw new Error('The AG-UI server canceled the run')
  run.interrupts = outcome?.type === 'interrupt' ? (outcome.interrupts ?? []) : []
  return readUsage(usage)
}

/** Its message may hold what is nobody's business. */
function failRun({ code, message }: Event): readonly AgentChunk[] {
  throw new Error(`The AG-UI server failed${code ? ` (${code})` : ''}: ${String(message ?? 'no reason').slice(0, 500)}`)
}

function readUsage(usage: Json | null | undefined): readonly AgentChunk[] {
  const read = partialResponseSchema.shape.usage.safeParse(readAguiUsage(usage ?? undefined))
  return read.success && read.data ? [{ usage: read.data }] : []
}
