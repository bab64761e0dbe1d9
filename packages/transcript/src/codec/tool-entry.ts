// Pairs tool calls with their results in a list of entries, and removes those without a partner.
import type { Json } from '@postern/message'
import type { EntryBody } from '../entry/entry.ts'
import { textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isJsonMap } from '../json/difference.ts'
import type { CodecFinding, ReadPosition } from './dialect.ts'

const callKinds: ReadonlySet<EntryKind> = new Set(['tool_call', 'delegation', 'navigation'])

/** Returns true if an entry is a call that a `tool_result` ends. */
export function isCallEntry({ kind, tool }: Pick<EntryBody, 'kind' | 'tool'>): boolean {
  return callKinds.has(kind) && tool !== undefined
}

/** The number of entries before a result among which its call is searched. The limit keeps the cost of long lists linear. */
export const maxCallDistance = 256

/** Finds the last earlier call with this id. */
export function findCall(callId: string, precedingEntries: readonly EntryBody[]): EntryBody | undefined {
  return precedingEntries
    .slice(-maxCallDistance)
    .findLast(entry => isCallEntry(entry) && entry.tool?.call_id === callId)
}

/** Finds the name of the tool in an earlier call with this id. */
export function findCallName(callId: string, { precedingEntries }: ReadPosition): string | undefined {
  return findCall(callId, precedingEntries)?.tool?.name
}

/** Finds the first earlier call without a result for which `accepts` returns true. */
export function findOpenCall(reading: ReadPosition, accepts: (call: EntryBody) => boolean): string | undefined {
  const precedingEntries = reading.precedingEntries.slice(-maxCallDistance)
  const endedCallIds = new Set(
    precedingEntries.filter(({ kind }) => kind === 'tool_result').map(({ tool }) => tool?.call_id),
  )
  return precedingEntries.find(entry => isCallEntry(entry) && !endedCallIds.has(entry.tool?.call_id) && accepts(entry))
    ?.tool?.call_id
}

/** Returns the structured result of a call, or its text if there is no structured result. */
export function resultOfEntry({ tool, content }: EntryBody): Json {
  if (tool?.result !== undefined) return tool.result
  return 'value' in content ? content.value : textOfContent(content)
}

/** Returns the result of a call for a dialect that has only text. */
export function resultTextOf(entry: EntryBody): string {
  const resultText = textOfContent(entry.content)
  if (resultText !== '' || entry.tool?.result === undefined) return resultText || (entry.tool?.error?.message ?? '')
  return typeof entry.tool.result === 'string' ? entry.tool.result : JSON.stringify(entry.tool.result)
}

/** Returns the arguments of a call, which are always an object. */
export function argsOf(value: Json | undefined): Record<string, Json> {
  return isJsonMap(value) ? ({ ...value } as Record<string, Json>) : {}
}

/** Counts the entries from a call to its last result, including the agent's texts and calls between them. Returns 1 if there is no result. */
export function countUntilResult([head, ...furtherEntries]: readonly EntryBody[]): number {
  if (!head || !isCallEntry(head)) return 1
  const openCallIds = new Set([head.tool?.call_id])
  let length = 1
  for (const [index, entry] of furtherEntries.entries()) {
    if (openCallIds.size === 0 || !isPartOfCall(entry, head)) break
    if (isCallEntry(entry)) openCallIds.add(entry.tool?.call_id)
    else if (entry.kind === 'tool_result' && openCallIds.delete(entry.tool?.call_id)) length = index + 2
  }
  return length
}

function isPartOfCall(entry: EntryBody, { agent_key }: EntryBody): boolean {
  const { kind, role, is_incomplete } = entry
  const isSpokenText = kind === 'text' && role === 'assistant' && is_incomplete !== true
  return entry.agent_key === agent_key && (isSpokenText || kind === 'tool_result' || isCallEntry(entry))
}

/** Counts the entries of one message, which are the assistant's text and the following calls. */
export function countTextAndCalls(
  [head, ...furtherEntries]: readonly EntryBody[],
  isFirstEntry: (entry: EntryBody) => boolean,
  isCall: (entry: EntryBody) => boolean,
): number {
  if (!head || head.group_id === undefined || !isFirstEntry(head)) return 1
  const end = furtherEntries.findIndex(entry => entry.group_id !== head.group_id || !isCall(entry))
  return 1 + (end < 0 ? furtherEntries.length : end)
}

/** Finds calls without a result and results without a call, by ascending index. */
export function findOrphanEntries(entries: readonly EntryBody[]): readonly CodecFinding[] {
  const callIds = new Set<string>()
  const endedCallIds = new Set<string>()
  const loneResultIndexes = new Set<number>()
  for (const [index, entry] of entries.entries()) {
    const id = entry.tool?.call_id
    if (id === undefined) continue
    if (isCallEntry(entry)) callIds.add(id)
    else if (entry.kind === 'tool_result' && callIds.has(id)) endedCallIds.add(id)
    else if (entry.kind === 'tool_result') loneResultIndexes.add(index)
  }
  return entries.flatMap((entry, index) => {
    if (loneResultIndexes.has(index))
      return [{ code: 'orphan_tool_result', message: 'a result without its call', index }]
    const isOpen = isCallEntry(entry) && !endedCallIds.has(entry.tool?.call_id ?? '')
    return isOpen ? [{ code: 'orphan_tool_call', message: 'a call without its result', index }] : []
  })
}

/** Returns `entries` without orphans, for a model. Stores keep the orphans. The function is idempotent. */
export function repairPairs<Entry extends EntryBody>(
  entries: readonly Entry[],
  report?: (finding: CodecFinding) => void,
): readonly Entry[] {
  const orphans = findOrphanEntries(entries)
  for (const orphan of orphans) report?.(orphan)
  const indexes = new Set(orphans.map(({ index }) => index))
  return entries.filter((_, index) => !indexes.has(index))
}
