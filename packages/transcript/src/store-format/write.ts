import type { Json } from '@postern/core'
import { presentMembers, resultOfEntry } from '../codec/tool-entry.ts'
import { writeEntryDecision } from '../entry/decision.ts'
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import type { StoreMessage } from './message.ts'
import type { StoreMessageType } from './message-types.ts'

/** The nearest legal type. If it is not the kind itself, the marker names the kind. */
const typeOfKind: Record<EntryKind, StoreMessageType> = {
  text: 'observation',
  delta: 'observation',
  tool_call: 'action',
  tool_result: 'observation',
  input_required: 'observation',
  approval_required: 'observation',
  policy: 'observation',
  final: 'final',
  error: 'error',
  task: 'task',
  delegation: 'delegation',
  synthesis: 'synthesis',
  global_observation: 'global_observation',
  strategic_plan: 'strategic_plan',
  suggested_plan: 'suggested_plan',
  script_plan: 'script_plan',
  script_instruction: 'script_instruction',
  director_context: 'director_context',
  injected_context: 'injected_context',
  system: 'director_context',
  developer: 'injected_context',
  flush: 'director_context',
  rescue: 'error',
  navigation: 'delegation',
  reasoning: 'observation',
  activity: 'observation',
}

/** The type as which an entry shows in a message store; its group of views is always the entry's scope. */
export function storeTypeOfEntry({ kind, role, scope }: Pick<EntryBody, 'kind' | 'role' | 'scope'>): StoreMessageType {
  if (scope === 'conversation') return role === 'user' ? 'user_message' : 'assistant_message'
  return typeOfKind[kind]
}

/** An entry as a stored message, by its canonical members alone. */
export function writeStoreMessage(entry: EntryBody): StoreMessage {
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

/** A structured content as it is; anything said as text. */
function contentOf({ content }: EntryBody): Json {
  return 'value' in content ? content.value : textOfContent(content)
}

function resultOfStore(entry: EntryBody): Json {
  return entry.tool?.error && entry.tool.result === undefined && contentOf(entry) === ''
    ? entry.tool.error.message
    : resultOfEntry(entry)
}
