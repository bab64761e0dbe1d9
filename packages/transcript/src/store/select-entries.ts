import { Rejection } from '@postern/core'
import type { TranscriptEntry } from '../entry/entry.ts'
import type { EntryRange } from './transcript-store.ts'

/** The entries of `range`, ascending, out of all entries of a thread. Pure; every store's `read` gives this result. */
export function selectEntries(entries: readonly TranscriptEntry[], range: EntryRange): readonly TranscriptEntry[] {
  const within = entries.filter(entry => isWithin(entry, range))
  const isBackward = range.tail !== undefined
  const asked = isBackward
    ? within.slice(Math.max(within.length - (range.tail ?? 0), 0))
    : within.slice(0, range.limit ?? within.length)
  if (range.max_bytes === undefined) return asked
  const sizes = asked.map(entry => Buffer.byteLength(JSON.stringify(entry)))
  const count = countFitting(isBackward ? sizes.reverse() : sizes, range)
  return isBackward ? asked.slice(asked.length - count) : asked.slice(0, count)
}

/** How many of these sizes fit; at least one. @throws Rejection too_large when all are required */
export function countFitting(
  sizes: readonly number[],
  { max_bytes = Number.POSITIVE_INFINITY, is_whole }: EntryRange,
): number {
  let bytes = 0
  const end = sizes.findIndex((size, at) => {
    bytes += size
    return at > 0 && bytes > max_bytes
  })
  if (end < 0) return sizes.length
  if (!is_whole) return end
  throw new Rejection('too_large', `Cannot read thread: more than ${max_bytes} bytes; ask for fewer messages`)
}

function isWithin(entry: TranscriptEntry, range: EntryRange): boolean {
  const { after_seq = 0, before_seq = Number.POSITIVE_INFINITY, scopes, kinds, agent_keys, chat } = range
  const place = chat ? entry.chat_seq : entry.seq
  if (place === undefined || place <= after_seq || place >= before_seq) return false
  if (scopes && !scopes.includes(entry.scope)) return false
  if (kinds && !kinds.includes(entry.kind)) return false
  return !agent_keys || (entry.agent_key !== undefined && agent_keys.includes(entry.agent_key))
}
