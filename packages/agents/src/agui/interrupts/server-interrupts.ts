// Reads the questions that a server waits for, from `outcome.interrupts` or from LangGraph's `on_interrupt` events.
import type { Json } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'
import { z } from 'zod'
import type { Consent } from './consent.ts'
import { readConsent } from './consent.ts'
import { formatQuestion } from './question.ts'

/** One question of a server. */
export interface ServerInterrupt {
  readonly id: string
  /** The question as people read it. */
  readonly question: string
  /** The JSON Schema of the answer; absent if the server gave none. */
  readonly schema?: Json | undefined
  /** The values that a yes and a no represent; absent if a yes or a no is not enough. */
  readonly consent?: Consent | undefined
  /** The time at which the question expires, in ISO 8601. */
  readonly expiresAt?: string | undefined
  /** The member of a run that carries the answer: `resume`, LangGraph's `forwardedProps.command`, or either of them. */
  readonly via: 'resume' | 'command' | 'either'
}

export interface InterruptEvent extends Pick<ServerInterrupt, 'id'> {
  readonly value: unknown
  /** The `response_schema` of `interrupt()`, against which LangGraph validates the answer. */
  readonly schema?: unknown
}

/** The calls of a run so far, keyed by their ids. */
type Calls = ReadonlyMap<string, { readonly name: string; readonly args: string }>

export const interruptSchema = z.looseObject({
  id: z.string(),
  message: z.string().nullish(),
  reason: z.string().nullish(),
  toolCallId: z.string().nullish(),
  responseSchema: z.json().nullish(),
  expiresAt: z.string().nullish(),
  metadata: z.unknown().optional(),
})

type OutcomeInterrupt = z.infer<typeof interruptSchema>

/** The maximum number of interrupts of one run, and the maximum length of a schema, characters of its JSON. */
const maxInterrupts = 50
const maxSchema = 16 * 1024

/** Reads a `CUSTOM` event; undefined if it is no interrupt. LangGraph encodes values other than text as JSON. */
export function readInterruptEvent(
  { name, value, rawEvent }: { readonly name?: unknown; readonly value?: unknown; readonly rawEvent?: unknown },
  before: number,
): InterruptEvent | undefined {
  if (name !== 'on_interrupt' || before >= maxInterrupts) return undefined
  const parsedValue = typeof value === 'string' ? parseIfJson(value) : undefined
  const { id, response_schema: schema } = isJsonObject(rawEvent) ? rawEvent : {}
  return {
    id: typeof id === 'string' ? id : `on_interrupt ${before + 1}`,
    value: typeof parsedValue === 'object' && parsedValue !== null ? parsedValue : value,
    schema,
  }
}

/** Joins both reports of the same interrupts. */
export function joinInterrupts(
  outcome: readonly OutcomeInterrupt[],
  events: readonly InterruptEvent[],
  calls: Calls,
): readonly ServerInterrupt[] {
  const eventsById = new Map(events.map(event => [event.id, event]))
  if (outcome.length === 0) return [...eventsById.values()].map(event => readEvent(event, calls))
  return outcome.slice(0, maxInterrupts).map(interrupt => readOutcome(interrupt, eventsById.get(interrupt.id), calls))
}

function readOutcome(
  { id, message, reason, toolCallId, responseSchema, expiresAt, metadata }: OutcomeInterrupt,
  event: InterruptEvent | undefined,
  calls: Calls,
): ServerInterrupt {
  const langgraph = isJsonObject(metadata) && isJsonObject(metadata.langgraph) ? metadata.langgraph : undefined
  const value = langgraph ? langgraph.raw : metadata
  return {
    id,
    question: formatQuestion({ message, about: value, call: findCall(toolCallId, calls), reason }),
    ...describeAnswer({ value, schema: responseSchema, checkedSchema: event?.schema, expiresAt }),
    via: event || langgraph ? 'either' : 'resume',
  }
}

function readEvent({ id, value, schema: checkedSchema }: InterruptEvent, calls: Calls): ServerInterrupt {
  const members = isJsonObject(value) ? value : {}
  const call = findCall(members.toolCallId ?? members.tool_call_id, calls)
  const schema = members.responseSchema ?? members.response_schema
  return {
    id,
    question: formatQuestion({ about: value, call }),
    ...describeAnswer({ value, schema, checkedSchema, expiresAt: members.expiresAt ?? members.expires_at }),
    via: 'command',
  }
}

function findCall(id: unknown, calls: Calls) {
  const call = typeof id === 'string' ? calls.get(id) : undefined
  return call && { name: call.name, args: parseIfJson(call.args) }
}

interface InterruptFacts {
  readonly value: unknown
  /** The schema that the graph shows to people. */
  readonly schema: unknown
  /** The schema against which LangGraph validates the answer. */
  readonly checkedSchema: unknown
  readonly expiresAt: unknown
}

function describeAnswer({ value, schema: toldSchema, checkedSchema, expiresAt }: InterruptFacts) {
  const isChecked = isJsonObject(checkedSchema)
  const schema = isChecked ? checkedSchema : toldSchema
  const consent = readConsent(schema, value, isChecked)
  const isStorable = isJsonObject(schema) && JSON.stringify(schema).length <= maxSchema
  return {
    ...(isStorable && { schema: schema as Json }),
    ...(consent && { consent }),
    ...(typeof expiresAt === 'string' && !Number.isNaN(Date.parse(expiresAt)) && { expiresAt }),
  }
}
