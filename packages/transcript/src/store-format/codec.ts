// Translates between messages of the message store format and transcript entries.
import type { Json } from '@postern/message'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect, ReadPosition, TranscriptDraft } from '../codec/dialect.ts'
import { markerName, markerOfRun } from '../codec/dialect.ts'
import { argsOf, findOpenCall, resultOfEntry } from '../codec/tool-entry.ts'
import type { EntryBody, EntryContent, EntryTool } from '../entry/entry.ts'
import {
  contentOfText,
  isoOfMs,
  parseEntryTime,
  readEntryDecision,
  textOfContent,
  writeEntryDecision,
} from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import { presentMembers } from '../json/difference.ts'
import type { StoreMessage, StoreMessageType } from './message.ts'
import { isMessageType, parseStoreMessage } from './message.ts'

const dialect: Dialect<StoreMessage> = {
  format: 'store',
  parse: parseStoreMessage,
  toDrafts: (message, reading) => [readStoreDraft(message, reading)],
  countMessageEntries: () => 1,
  toMessage: ([entry]) => writeStoreMessage(entry),
  readMarker: message => message[markerName],
  stripMarker({ [markerName]: _, ...message }) {
    return message as StoreMessage
  },
  addMarker: (message, run) => ({ ...message, [markerName]: markerOfRun(run) as Json }),
  // Time and turn are not compared, so that an export without names of turns matches its entries, too.
  comparableMembersOf: ({ [markerName]: _, timestamp: __, turn_id: ___, ...message }) => message as Json,
}

/** The codec of messages of a message store. */
export const storeCodec = createCodec(dialect)

const draftOfType: Record<StoreMessageType, Pick<TranscriptDraft, 'kind' | 'role'>> = {
  user_message: { kind: 'text', role: 'user' },
  assistant_message: { kind: 'text', role: 'assistant' },
  task: { kind: 'task', role: 'system' },
  action: { kind: 'tool_call', role: 'assistant' },
  observation: { kind: 'tool_result', role: 'tool' },
  error: { kind: 'error', role: 'system' },
  final: { kind: 'final', role: 'assistant' },
  synthesis: { kind: 'synthesis', role: 'assistant' },
  strategic_plan: { kind: 'strategic_plan', role: 'system' },
  suggested_plan: { kind: 'suggested_plan', role: 'system' },
  script_plan: { kind: 'script_plan', role: 'system' },
  script_instruction: { kind: 'script_instruction', role: 'system' },
  delegation: { kind: 'delegation', role: 'assistant' },
  global_observation: { kind: 'global_observation', role: 'system' },
  director_context: { kind: 'director_context', role: 'system' },
  injected_context: { kind: 'injected_context', role: 'developer' },
}

/** Reads a stored message as an entry, as far as the canonical members can represent it. */
function readStoreDraft(message: StoreMessage, reading: ReadPosition): TranscriptDraft {
  const { timestamp, phase_id, turn_id } = message
  return {
    ...draftOfType[message.type],
    content: readStoreContent(message.content),
    tool: readStoreTool(message, reading),
    error: readStoreError(message),
    decided_by: readEntryDecision(message.decided_by),
    agent_key: textOf(message.agent_key) ?? textOf(message.from_manager) ?? textOf(message.from_worker),
    turn_id: textOf(turn_id),
    phase_id: Number.isSafeInteger(phase_id) ? Number(phase_id) : undefined,
    at: readStoreTime(timestamp),
    native_at: typeof timestamp === 'number' || typeof timestamp === 'string' ? timestamp : undefined,
  }
}

function readStoreContent(content: Json | undefined): EntryContent {
  if (content === undefined) return contentOfText('')
  return typeof content === 'string' ? contentOfText(content) : { value: content }
}

/** Reads a time, which is seconds since the epoch with a fraction, or ISO text, because the documentation of the format shows both. */
function readStoreTime(timestamp: Json | undefined): string | undefined {
  if (typeof timestamp === 'number') return isoOfMs(Math.round(timestamp * 1000))
  return typeof timestamp === 'string' ? parseEntryTime(timestamp) : undefined
}

function readStoreTool(message: StoreMessage, reading: ReadPosition): EntryTool | undefined {
  const { newId } = reading.context
  if (message.type === 'action') {
    return { call_id: newId(), name: textOf(message.tool), args: argsOf(message.args) }
  }
  if (message.type === 'delegation') {
    return { call_id: newId(), name: 'delegate', args: argsOf({ worker: message.worker, task: message.task }) }
  }
  return message.type === 'observation' ? { call_id: findAction(message, reading) ?? newId() } : undefined
}

/** Finds the action of an observation that does not name it, which is the first open one of its agent and turn. */
function findAction(message: StoreMessage, reading: ReadPosition): string | undefined {
  const agent = textOf(message.agent_key) ?? reading.context.agent_key
  const turn = textOf(message.turn_id)
  return findOpenCall(reading, call => call.agent_key === agent && call.turn_id === turn)
}

function readStoreError({ type, content, error_type }: StoreMessage): TranscriptDraft['error'] {
  if (type !== 'error') return undefined
  const message = typeof content === 'string' ? content : JSON.stringify(content)
  return { message, type: textOf(error_type) }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The nearest legal type of kinds that are no type. Absent for `observation`. The marker names the kind. */
const typeOfKind: Partial<Record<EntryKind, StoreMessageType>> = {
  tool_call: 'action',
  system: 'director_context',
  developer: 'injected_context',
  flush: 'director_context',
  rescue: 'error',
  navigation: 'delegation',
}

/** Returns the type that an entry has in a message store. The views that contain this type always correspond to the entry's scope. */
export function storeTypeOfEntry({ kind, role, scope }: Pick<EntryBody, 'kind' | 'role' | 'scope'>): StoreMessageType {
  if (scope === 'conversation') return role === 'user' ? 'user_message' : 'assistant_message'
  return isMessageType(kind) ? kind : (typeOfKind[kind] ?? 'observation')
}

/** Writes an entry as a stored message, from its canonical members only. */
function writeStoreMessage(entry: EntryBody): StoreMessage {
  const type = storeTypeOfEntry(entry)
  return {
    type,
    ...writeSubject(type, entry),
    ...presentMembers({ turn_id: entry.turn_id, agent_key: entry.agent_key }),
    ...writeEntryDecision(entry.decided_by),
    timestamp: Date.parse(entry.at) / 1000,
  }
}

function writeSubject(type: StoreMessageType, entry: EntryBody): JsonMap {
  const { tool, error, agent_key, phase_id, kind } = entry
  if (type === 'action') return { tool: tool?.name ?? kind, args: tool?.args ?? {} }
  if (type === 'delegation')
    return { worker: tool?.args?.worker ?? tool?.name ?? '', task: tool?.args?.task ?? contentOf(entry) }
  const content = kind === 'tool_result' ? resultOfStore(entry) : contentOf(entry)
  if (type === 'error') return presentMembers({ content, error_type: kind === 'rescue' ? 'rescue' : error?.type })
  if (type === 'synthesis') return presentMembers({ content, from_manager: agent_key ?? '', phase_id })
  return type === 'global_observation' ? presentMembers({ content, from_worker: agent_key }) : { content }
}

/** Returns structured content unchanged, and other content as text. */
function contentOf({ content }: EntryBody): Json {
  return 'value' in content ? content.value : textOfContent(content)
}

function resultOfStore(entry: EntryBody): Json {
  return entry.tool?.error && entry.tool.result === undefined && contentOf(entry) === ''
    ? entry.tool.error.message
    : resultOfEntry(entry)
}
