// Filters messages of the message store format by role, and reads job histories and the notes of agents.
import { Rejection } from '@postern/message'
import type { AgentNote, NoteBody, NoteContext } from '@postern/pipeline'
import type { EntryBody } from '../entry/entry.ts'
import type { JsonMap } from '../json/difference.ts'
import { isJsonMap } from '../json/difference.ts'
import type { CompletionCheck, RoleFilter } from '../views/role-filter.ts'
import { filterByRole, isTurnComplete } from '../views/role-filter.ts'
import { storeCodec } from './codec.ts'
import type { StoreMessage, StoreMessageType } from './message.ts'
import { messageTypes } from './message.ts'

/** Filters messages by the rules of `filterByRole`. Turns begin and end by time, not by position in the list. @throws Rejection malformed */
export function filterMessagesByRole(messages: readonly unknown[], options: RoleFilter): readonly StoreMessage[] {
  return storeCodec.write(filterByRole(readWithoutThread(messages), options))
}

/** Returns true if the turn of the messages is complete by the rules of `isTurnComplete`. @throws Rejection malformed */
export function isMessageTurnComplete(messages: readonly unknown[], check?: CompletionCheck): boolean {
  return isTurnComplete(readWithoutThread(messages), check)
}

function readWithoutThread(messages: readonly unknown[]): readonly EntryBody[] {
  let nextNumber = 0
  const newId = () => {
    nextNumber += 1
    return `unstored-${nextNumber}`
  }
  return storeCodec.read(messages, { thread_id: 'unstored', at: '1970-01-01T00:00:00.000Z', newId })
}

const typesByJobRole: Record<string, StoreMessageType> = { user: 'user_message', assistant: 'assistant_message' }
const jobTraceTypes: ReadonlySet<unknown> = new Set(['task', 'action', 'observation'])

/**
 * Reads the record of a job (`prepare_history_from_job_data`) as messages. It reads user and assistant text from the conversation, and tasks,
 * actions and observations from the traces. It omits other messages and invalid messages.
 */
export function prepareJobHistory(job: JsonMap): readonly StoreMessage[] {
  const conversation = listMaps(job.conversation).flatMap(({ role, ...message }) => {
    const type = typeof role === 'string' ? typesByJobRole[role] : undefined
    return type ? [{ ...message, type }] : []
  })
  const traces = listMaps(job.traces).filter(({ type }) => jobTraceTypes.has(type))
  return [...conversation, ...traces].flatMap(parseIfValid)
}

function listMaps(value: JsonMap[string]): readonly JsonMap[] {
  return Array.isArray(value) ? value.filter(isJsonMap) : []
}

function parseIfValid(message: JsonMap): readonly StoreMessage[] {
  try {
    return [storeCodec.parse(message)]
  } catch {
    return []
  }
}

/**
 * Reads an agent's note of its turn as an entry without `entry_id` and `thread_id`. A note is a message of any type except those of the conversation.
 * `context` provides agent, turn and time if the note has none. @throws Rejection malformed, naming the member
 */
export function readStoreNote(note: AgentNote, context: NoteContext): NoteBody {
  const message = storeCodec.parse(note)
  if (messageTypes[message.type].group === 'conversation') {
    const description = `${message.type} belongs to the conversation`
    throw new Rejection('malformed', `Cannot read message: type: ${description}`, {
      violations: [{ field: 'type', description }],
    })
  }
  const { at, call_id } = context
  const [entry] = storeCodec.read([completeNote(message, context)], { thread_id: 'note', at, newId: () => call_id })
  if (!entry) throw new TypeError('the codec returned no entry')
  const { entry_id: _, thread_id: __, ...body } = entry
  return { ...body, ...(entry.kind === 'tool_result' && { tool: describeToolEnd(context) }) } as unknown as NoteBody
}

function completeNote(message: StoreMessage, { agent_key, turn_id, at }: NoteContext): StoreMessage {
  const namesAgent = 'from_worker' in message || 'from_manager' in message
  return { turn_id, timestamp: Date.parse(at) / 1000, ...(!namesAgent && { agent_key }), ...message }
}

function describeToolEnd({ call_id, tool, error }: NoteContext) {
  return { call_id, ...(tool !== undefined && { name: tool }), success: !error, ...(error && { error: { ...error } }) }
}
