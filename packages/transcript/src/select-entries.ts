import type { TranscriptEntry } from './entry.ts'
import type { EntryRange } from './transcript-store.ts'

/** The entries of `range`, ascending, out of all entries of a thread, ascending. Pure; what every store's `read` answers. */
export function selectEntries(entries: readonly TranscriptEntry[], range: EntryRange): readonly TranscriptEntry[] {
  const within = entries.filter(entry => isWithin(entry, range))
  if (range.tail !== undefined) return within.slice(Math.max(within.length - range.tail, 0))
  return range.limit === undefined ? within : within.slice(0, range.limit)
}

function isWithin(entry: TranscriptEntry, range: EntryRange): boolean {
  const { after_seq = 0, before_seq = Number.POSITIVE_INFINITY, scopes, kinds, agent_keys, chat } = range
  const place = chat ? entry.chat_seq : entry.seq
  if (place === undefined || place <= after_seq || place >= before_seq) return false
  if (scopes && !scopes.includes(entry.scope)) return false
  if (kinds && !kinds.includes(entry.kind)) return false
  return !agent_keys || (entry.agent_key !== undefined && agent_keys.includes(entry.agent_key))
}
