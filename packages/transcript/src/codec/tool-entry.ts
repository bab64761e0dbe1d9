import type { Json } from '@postern/core'
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isJsonMap, type JsonMap } from '../json/difference.ts'
import type { Reading } from './dialect.ts'

const callKinds: ReadonlySet<EntryKind> = new Set(['tool_call', 'delegation', 'navigation'])

/** Whether an entry begins something that a `tool_result` ends. */
export function isCallEntry({ kind, tool }: Pick<EntryBody, 'kind' | 'tool'>): boolean {
  return callKinds.has(kind) && tool !== undefined
}

/** How many entries back a result looks for its call: reading a long list stays linear. */
const farthestCall = 256

/** The name of the tool that a call of this id was for, among what was read before. */
export function findCallName(callId: string, { before }: Reading): string | undefined {
  return before.slice(-farthestCall).findLast(entry => isCallEntry(entry) && entry.tool?.call_id === callId)?.tool?.name
}

/** The first call among what was read before that `accepts` and that no result has ended. */
export function findOpenCall(reading: Reading, accepts: (call: EntryBody) => boolean): string | undefined {
  const before = reading.before.slice(-farthestCall)
  const ended = new Set(before.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id))
  return before.find(entry => isCallEntry(entry) && !ended.has(entry.tool?.call_id) && accepts(entry))?.tool?.call_id
}

/** What came of a call: its structured result, else what was said of it. */
export function resultOfEntry({ tool, content }: EntryBody): Json {
  if (tool?.result !== undefined) return tool.result
  return 'value' in content ? content.value : textOfContent(content)
}

/** What came of a call, for a dialect that carries only text. */
export function resultTextOf(entry: EntryBody): string {
  const said = textOfContent(entry.content)
  if (said !== '' || entry.tool?.result === undefined) return said || (entry.tool?.error?.message ?? '')
  return typeof entry.tool.result === 'string' ? entry.tool.result : JSON.stringify(entry.tool.result)
}

/** Arguments of a call: always an object. */
export function argsOf(value: Json | undefined): Record<string, Json> {
  return isJsonMap(value) ? ({ ...value } as Record<string, Json>) : {}
}

/** The members of `map` that are there; for building messages without absent members. */
export function presentMembers(map: JsonMap): Record<string, Json> {
  return Object.fromEntries(Object.entries(map).filter((member): member is [string, Json] => member[1] !== undefined))
}
