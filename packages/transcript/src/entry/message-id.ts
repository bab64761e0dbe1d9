// Returns the ids under which a chat shows the messages of an answer. They are the same in its stream, its history and every export.
import type { Part } from '@postern/message'
import type { EntryBody } from './entry.ts'

type SeparatePart = Extract<Part, { readonly kind: 'tool_call' | 'policy' }>

/** Returns true if a part is a separate message, which is a call of a tool or a requirement. Other parts form one message with their neighbours. */
export function standsAlone(part: Part): part is SeparatePart {
  return part.kind === 'tool_call' || part.kind === 'policy'
}

type PartGroup = readonly [Part, ...Part[]]

/** Returns the parts in groups of one message each. Groups without content are omitted. */
export function groupParts(parts: readonly Part[]): readonly PartGroup[] {
  const groups: [Part, ...Part[]][] = []
  for (const part of parts) {
    const lastGroup = groups.at(-1)
    if (lastGroup && !standsAlone(lastGroup[0]) && !standsAlone(part)) lastGroup.push(part)
    else groups.push([part])
  }
  return groups.filter(group => !group.every(isEmptyText))
}

/** Returns true if a part has no text, so that it begins no message. */
export function isEmptyText(part: Part): boolean {
  return part.kind === 'text' && part.content === ''
}

/**
 * Returns the id of the text message at this position (from 1) of a response. Calls of tools do not count. The first message has the id of the response.
 */
export function nameTextMessage(response: string, position: number): string {
  return position === 1 ? response : `${response}-${position}`
}

/** Returns the id of the message that calls a tool. Agents reuse ids of calls, so the id of a call in a response includes the response's id. */
export function nameCall(call: string, response?: string): string {
  return response === undefined ? call : `${response}.${call}`
}

/** Returns the id of the message with the result of a call. */
export function nameResult(call: string, response?: string): string {
  return `${nameCall(call, response)}-result`
}

/** Returns the ids of the entries that make up a message or response with this id, in their order. */
export function nameEntries(id: string, entries: readonly Pick<EntryBody, 'kind' | 'tool'>[]): readonly string[] {
  let position = 0
  return entries.map(({ kind, tool }) => {
    if (kind === 'tool_call' && tool) return nameCall(tool.call_id, id)
    if (kind === 'tool_result' && tool) return nameResult(tool.call_id, id)
    position += 1
    return nameTextMessage(id, position)
  })
}

/** Returns the id under which a chat shows an entry. */
export function messageIdOf({
  message_id,
  native_id,
  entry_id,
}: Pick<EntryBody, 'message_id' | 'native_id' | 'entry_id'>): string {
  return message_id ?? native_id ?? entry_id
}
