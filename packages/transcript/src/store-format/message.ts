// Validates messages of the message store format against its catalogue of types.
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
import type { JsonMap } from '../json/difference.ts'
import { parseJsonMap } from '../json/schema.ts'

/** A message of a message store. Its type determines its other members; additional members are preserved. */
export type StoreMessage = JsonMap & { readonly type: StoreMessageType }

const timeTypes: ReadonlySet<string> = new Set(['number', 'string'])

/**
 * Parses a message with the members that its type requires. Members may have any type, because `content` may be anything. @throws Rejection
 * malformed, naming the member or the known types
 */
export function parseStoreMessage(value: unknown): StoreMessage {
  const message = parseJsonMap(value, 'message')
  const { type } = message
  if (!isMessageType(type)) {
    throw refuseMember('type', `unknown type, must be one of ${messageTypeNames.join(', ')}`)
  }
  const missing = messageTypes[type].required_fields.find(name => !Object.hasOwn(message, name))
  if (missing !== undefined) throw refuseMember(missing, `missing, a message of type ${type} requires it`)
  checkCommonMembers(message)
  return message as StoreMessage
}

function checkCommonMembers({ timestamp, turn_id, agent_key }: JsonMap): void {
  if (!isAbsent(timestamp) && !timeTypes.has(typeof timestamp)) {
    throw refuseMember('timestamp', 'must be a number of seconds or a time as text')
  }
  if (!isAbsent(turn_id) && typeof turn_id !== 'string') throw refuseMember('turn_id', 'must be a string')
  if (!isAbsent(agent_key) && typeof agent_key !== 'string') throw refuseMember('agent_key', 'must be a string')
}

function isAbsent(value: Json | undefined): boolean {
  return value === undefined || value === null
}

function refuseMember(field: string, description: string): Rejection {
  return new Rejection('malformed', `Cannot read message: ${field}: ${description}`, {
    violations: [{ field, description }],
  })
}

/** One of the sixteen types of a message store, as described by its catalogue. */
interface MessageTypeInfo {
  readonly group: 'conversation' | 'trace' | 'completion' | 'planning' | 'delegation' | 'global' | 'context'
  readonly description: string
  /** The name of the function that builds such a message. */
  readonly builder: string
  /** The members that a message must have in addition to `type`. */
  readonly required_fields: readonly string[]
  readonly optional_fields: readonly string[]
  /** The builder's names of these members, if they differ. */
  readonly required_arguments: readonly string[]
  readonly optional_arguments: readonly string[]
}

const commonMembers = ['timestamp', 'turn_id', 'agent_key'] as const

type Row = Pick<MessageTypeInfo, 'group' | 'description' | 'builder'> & {
  readonly fields?: readonly string[]
  readonly options?: readonly string[]
  readonly argumentNames?: readonly string[]
}

function describeType({ fields = ['content'], options = [], argumentNames = fields, ...row }: Row): MessageTypeInfo {
  const optional_fields = [...options, ...commonMembers]
  return {
    ...row,
    required_fields: fields,
    optional_fields,
    required_arguments: argumentNames,
    optional_arguments: [...options, 'timestamp', 'turn_id'],
  }
}

/** The catalogue of all types, with their required and optional members. */
export const messageTypes = {
  user_message: describeType({
    group: 'conversation',
    description: 'What the user said in a turn',
    builder: 'createUserMessage',
  }),
  assistant_message: describeType({
    group: 'conversation',
    description: 'What the assistant answered in a turn',
    builder: 'createAssistantMessage',
  }),
  task: describeType({
    group: 'trace',
    description: 'Start of a turn of execution; filters by role cut here',
    builder: 'createTaskEntry',
  }),
  action: describeType({
    group: 'trace',
    description: 'Call of a tool; has no content',
    builder: 'createActionEntry',
    fields: ['tool', 'args'],
    argumentNames: ['tool_name', 'tool_args'],
    options: ['step', 'script'],
  }),
  observation: describeType({
    group: 'trace',
    description: 'Result of a tool, a failed one too',
    builder: 'createObservationEntry',
    options: ['step', 'script'],
  }),
  error: describeType({
    group: 'trace',
    description: 'Failure of the loop itself',
    builder: 'createErrorEntry',
    options: ['error_type'],
  }),
  final: describeType({
    group: 'completion',
    description: 'Readable summary at the end of a run',
    builder: 'createFinalEntry',
  }),
  synthesis: describeType({
    group: 'completion',
    description: 'What a manager made of the results of workers',
    builder: 'createSynthesisEntry',
    fields: ['content', 'from_manager'],
    options: ['phase_id'],
  }),
  strategic_plan: describeType({
    group: 'planning',
    description: 'Plan of an orchestrator or manager',
    builder: 'createStrategicPlanEntry',
    argumentNames: ['plan'],
  }),
  suggested_plan: describeType({
    group: 'planning',
    description: 'Plan given from outside',
    builder: 'createSuggestedPlanEntry',
    argumentNames: ['plan'],
  }),
  script_plan: describeType({
    group: 'planning',
    description: 'Plan of steps',
    builder: 'createScriptPlanEntry',
    argumentNames: ['plan'],
  }),
  script_instruction: describeType({
    group: 'planning',
    description: 'Step of a script, given to an agent',
    builder: 'createScriptInstructionEntry',
  }),
  delegation: describeType({
    group: 'delegation',
    description: 'A manager hands a task to a worker; has no content',
    builder: 'createDelegationEntry',
    fields: ['worker', 'task'],
  }),
  global_observation: describeType({
    group: 'global',
    description: 'Observation for all agents of a location',
    builder: 'createGlobalObservationEntry',
    options: ['from_worker', 'summary', 'parallel'],
  }),
  director_context: describeType({
    group: 'context',
    description: 'Context a builder of contexts gave a manager',
    builder: 'createDirectorContextEntry',
  }),
  injected_context: describeType({
    group: 'context',
    description: 'Context given to an agent for one run',
    builder: 'createInjectedContextEntry',
  }),
} as const satisfies Record<string, MessageTypeInfo>

export type StoreMessageType = keyof typeof messageTypes

export const messageTypeNames = Object.keys(messageTypes) as readonly StoreMessageType[]

export function isMessageType(value: unknown): value is StoreMessageType {
  return typeof value === 'string' && Object.hasOwn(messageTypes, value)
}

/** Finds the catalogue's description of a type. Returns `undefined` if the type is unknown. */
export function findMessageTypeInfo(type: string): MessageTypeInfo | undefined {
  return isMessageType(type) ? messageTypes[type] : undefined
}
