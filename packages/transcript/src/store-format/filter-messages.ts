import type { EntryBody } from '../entry/entry.ts'
import { isJsonMap, type JsonMap } from '../json/difference.ts'
import { type CompletionCheck, filterByRole, isTurnComplete, type RoleFilter } from '../views/role-filter.ts'
import { storeCodec } from './codec.ts'
import type { StoreMessage } from './message.ts'
import type { StoreMessageType } from './message-types.ts'

/** `filterByRole` for messages: turns begin and end by time, not by place in the list. @throws Rejection malformed */
export function filterMessagesByRole(messages: readonly unknown[], options: RoleFilter): readonly StoreMessage[] {
  return storeCodec.write(filterByRole(readLoose(messages), options))
}

/** `isTurnComplete` for messages. @throws Rejection malformed */
export function isMessageTurnComplete(messages: readonly unknown[], check?: CompletionCheck): boolean {
  return isTurnComplete(readLoose(messages), check)
}

function readLoose(messages: readonly unknown[]): readonly EntryBody[] {
  let made = 0
  const newId = () => {
    made += 1
    return `loose-${made}`
  }
  return storeCodec.read(messages, { thread_id: 'loose', at: '1970-01-01T00:00:00.000Z', newId })
}

const typeOfJobRole: Record<string, StoreMessageType> = { user: 'user_message', assistant: 'assistant_message' }
const jobTraceTypes: ReadonlySet<unknown> = new Set(['task', 'action', 'observation'])

/**
 * The record of a job (`prepare_history_from_job_data`) as messages: of its conversation what user and assistant said, of its traces
 * tasks, actions and observations. Anything else is left out without a word.
 */
export function prepareJobHistory(job: JsonMap): readonly StoreMessage[] {
  const said = listMaps(job.conversation).flatMap(({ role, ...message }) => {
    const type = typeof role === 'string' ? typeOfJobRole[role] : undefined
    return type ? [{ ...message, type }] : []
  })
  const traces = listMaps(job.traces).filter(({ type }) => jobTraceTypes.has(type))
  return [...said, ...traces].flatMap(parseQuietly)
}

function listMaps(value: JsonMap[string]): readonly JsonMap[] {
  return Array.isArray(value) ? value.filter(isJsonMap) : []
}

function parseQuietly(message: JsonMap): readonly StoreMessage[] {
  try {
    return [storeCodec.parse(message)]
  } catch {
    return []
  }
}
