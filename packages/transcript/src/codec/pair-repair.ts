import type { EntryBody } from '../entry/entry.ts'
import type { CodecFinding } from './codec.ts'
import { isCallEntry } from './tool-entry.ts'

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
