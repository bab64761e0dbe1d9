import type { TranscriptEntry } from '../entry/entry.ts'
import type { ThreadKey, TranscriptStore } from './transcript-store.ts'

/** The entries of a thread that the bags of some messages claim, by id: what a codec's `find` looks up. */
export async function listClaimed(
  transcript: Pick<TranscriptStore, 'find'>,
  thread: ThreadKey,
  claims: readonly string[],
): Promise<ReadonlyMap<string, TranscriptEntry>> {
  const entries = claims.length > 0 ? await transcript.find(thread, [...new Set(claims)]) : []
  return new Map(entries.map(entry => [entry.entry_id, entry]))
}
