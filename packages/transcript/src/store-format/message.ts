import { type Json, Rejection } from '@postern/core'
import type { JsonMap } from '../json/difference.ts'
import { parseJsonMap } from '../json/parse-foreign.ts'
import { isMessageType, messageTypeNames, messageTypes, type StoreMessageType } from './message-types.ts'

/** A message of a message store: its type says what else it has; any further member is kept. */
export type StoreMessage = JsonMap & { readonly type: StoreMessageType }

const timeTypes: ReadonlySet<string> = new Set(['number', 'string'])

/**
 * A message with the members its type requires; of any type they may be, for `content` is anything.
 * @throws Rejection malformed, naming the member, or the types there are
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
