import type { Json } from '@postern/core'
import type { EntryBody } from '../entry/entry.ts'
import { textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isJsonMap } from '../json/difference.ts'
import type { CodecFinding, Reading } from './dialect.ts'

const callKinds: ReadonlySet<EntryKind> = new Set(['tool_call', 'delegation', 'navigation'])

/** Whether an entry begins something that a `tool_result` ends. */
export function isCallEntry({ kind, tool }: Pick<EntryBody, 'kind' | 'tool'>): boolean {
  return callKinds.has(kind) && tool !== undefined
}

/** How many entries back a result looks for its call. It keeps long lists linear. */
const farthestCall = 256

/** The name of the tool in an earlier call with this id. */
export function findCallName(callId: string, { before }: Reading): string | undefined {
  return before.slice(-farthestCall).findLast(entry => isCallEntry(entry) && entry.tool?.call_id === callId)?.tool?.name
}

/** The first earlier call without a result that `accepts` accepts. */
export function findOpenCall(reading: Reading, accepts: (call: EntryBody) => boolean): string | undefined {
  const before = reading.before.slice(-farthestCall)
  const ended = new Set(before.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id))
  return before.find(entry => isCallEntry(entry) && !ended.has(entry.tool?.call_id) && accepts(entry))?.tool?.call_id
}

/** The result of a call: the structured one, or else its text. */
export function resultOfEntry({ tool, content }: EntryBody): Json {
  if (tool?.result !== undefined) return tool.result
  return 'value' in content ? content.value : textOfContent(content)
}

/** The result of a call for a dialect with text only. */
export function resultTextOf(entry: EntryBody): string {
  const said = textOfContent(entry.content)
  if (said !== '' || entry.tool?.result === undefined) return said || (entry.tool?.error?.message ?? '')
  return typeof entry.tool.result === 'string' ? entry.tool.result : JSON.stringify(entry.tool.result)
}

/** Arguments of a call: always an object. */
export function argsOf(value: Json | undefined): Record<string, Json> {
  return isJsonMap(value) ? ({ ...value } as Record<string, Json>) : {}
}

/** How many entries one message holds: the assistant's text and the calls after it. */
export function countCalling(
  [head, ...rest]: readonly EntryBody[],
  isBegin: (entry: EntryBody) => boolean,
  isCall: (entry: EntryBody) => boolean,
): number {
  if (!head || head.group_id === undefined || !isBegin(head)) return 1
  const end = rest.findIndex(entry => entry.group_id !== head.group_id || !isCall(entry))
  return 1 + (end < 0 ? rest.length : end)
}

/** Entries without their other half, by ascending index: calls without a result, results without a call. */
export function findOrphanEntries(entries: readonly EntryBody[]): readonly CodecFinding[] {
  const called = new Set<string>()
  const ended = new Set<string>()
  const lone = new Set<number>()
  for (const [index, entry] of entries.entries()) {
    const id = entry.tool?.call_id
    if (id === undefined) continue
    if (isCallEntry(entry)) called.add(id)
    else if (entry.kind === 'tool_result' && called.has(id)) ended.add(id)
    else if (entry.kind === 'tool_result') lone.add(index)
  }
  return entries.flatMap((entry, index) => {
    if (lone.has(index)) return [{ code: 'orphan_tool_result', message: 'a result without its call', index }]
    const isOpen = isCallEntry(entry) && !ended.has(entry.tool?.call_id ?? '')
    return isOpen ? [{ code: 'orphan_tool_call', message: 'a call without its result', index }] : []
  })
}

/** `entries` without orphans: the list for a model. Stores keep them. A second run changes nothing. */
export function repairPairs<Entry extends EntryBody>(
  entries: readonly Entry[],
  report?: (finding: CodecFinding) => void,
): readonly Entry[] {
  const orphans = findOrphanEntries(entries)
  for (const orphan of orphans) report?.(orphan)
  const places = new Set(orphans.map(({ index }) => index))
  return entries.filter((_, index) => !places.has(index))
}
