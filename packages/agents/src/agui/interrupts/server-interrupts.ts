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
  /** The member of a run that carries the answer: `resume`, LangGraph's `forwardedProps.command`, or either of them. Its name is stored. */
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
const maxSchemaChars = 16 * 1024

/** Reads a `CUSTOM` event; undefined if it is no interrupt. `interruptCount` is the number of earlier interrupts. LangGraph encodes values other than text as JSON. */
export function readInterruptEvent(
  { name, value, rawEvent }: { readonly name?: unknown; readonly value?: unknown; readonly rawEvent?: unknown },
  interruptCount: number,
): InterruptEvent | undefined {
  if (name !== 'on_interrupt' || interruptCount >= maxInterrupts) return undefined
  const parsedValue = typeof value === 'string' ? parseIfJson(value) : undefined
  const { id, response_schema: schema } = isJsonObject(rawEvent) ? rawEvent : {}
  return {
    id: typeof id === 'string' ? id : `on_interrupt ${interruptCount + 1}`,
    value: typeof parsedValue === 'object' && parsedValue !== null ? parsedValue : value,
    schema,
  }
}

/** Merges the interrupts of the run's outcome with those that `on_interrupt` events reported. */
export function joinInterrupts(
  outcomeInterrupts: readonly OutcomeInterrupt[],
  events: readonly InterruptEvent[],
  calls: Calls,
): readonly ServerInterrupt[] {
  const eventsById = new Map(events.map(event => [event.id, event]))
  if (outcomeInterrupts.length === 0) return [...eventsById.values()].map(event => readEventInterrupt(event, calls))
  return outcomeInterrupts
    .slice(0, maxInterrupts)
    .map(interrupt => readOutcomeInterrupt(interrupt, eventsById.get(interrupt.id), calls))
}

function readOutcomeInterrupt(
  { id, message, reason, toolCallId, responseSchema, expiresAt, metadata }: OutcomeInterrupt,
  event: InterruptEvent | undefined,
  calls: Calls,
): ServerInterrupt {
  const langgraph = isJsonObject(metadata) && isJsonObject(metadata.langgraph) ? metadata.langgraph : undefined
  const value = langgraph ? langgraph.raw : metadata
  return {
    id,
    question: formatQuestion({ message, interruptValue: value, call: findCall(toolCallId, calls), reason }),
    ...describeExpectedAnswer({ value, schema: responseSchema, validatedSchema: event?.schema, expiresAt }),
    via: event || langgraph ? 'either' : 'resume',
  }
}

function readEventInterrupt({ id, value, schema: validatedSchema }: InterruptEvent, calls: Calls): ServerInterrupt {
  const members = isJsonObject(value) ? value : {}
  const call = findCall(members.toolCallId ?? members.tool_call_id, calls)
  const schema = members.responseSchema ?? members.response_schema
  return {
    id,
    question: formatQuestion({ interruptValue: value, call }),
    ...describeExpectedAnswer({ value, schema, validatedSchema, expiresAt: members.expiresAt ?? members.expires_at }),
    via: 'command',
  }
}

function findCall(id: unknown, calls: Calls) {
  const call = typeof id === 'string' ? calls.get(id) : undefined
  return call && { name: call.name, args: parseIfJson(call.args) }
}

interface ExpectedAnswerSource {
  readonly value: unknown
  /** The schema that the graph shows to people. */
  readonly schema: unknown
  /** The schema against which LangGraph validates the answer. */
  readonly validatedSchema: unknown
  readonly expiresAt: unknown
}

function describeExpectedAnswer({ value, schema: displayedSchema, validatedSchema, expiresAt }: ExpectedAnswerSource) {
  const isChecked = isJsonObject(validatedSchema)
  const schema = isChecked ? validatedSchema : displayedSchema
  const consent = readConsent(schema, value, isChecked)
  const isStorable = isJsonObject(schema) && JSON.stringify(schema).length <= maxSchemaChars
  return {
    ...(isStorable && { schema: schema as Json }),
    ...(consent && { consent }),
    ...(typeof expiresAt === 'string' && !Number.isNaN(Date.parse(expiresAt)) && { expiresAt }),
  }
}
