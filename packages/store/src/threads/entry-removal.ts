// Deletes an entry with its references.
import { nameEntry, nameNative } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** The assignments of an UPDATE that delete all data of a row except its position, thread and task. */
const clearAssignments = `kind = 'removed', scope = 'forgotten', content = '[]', author = '{"address":"@forgotten@forgotten.invalid"}',
  native_id = NULL, agent = NULL, channel = NULL, duplicate_key = NULL, fingerprint = NULL, correlation_id = NULL, principal = NULL,
  object = NULL, proofs = NULL, trace = NULL, arrival = NULL, flags = NULL, target = NULL, is_listed = 0, rendering = NULL, envelope = NULL, raw_form = NULL,
  raw_digest = NULL, raw = NULL, stored_by = NULL`

/** Prepares the deletion of an entry. The newest row is emptied instead of deleted, so that its seq is not used again. */
export function createEntryRemoval(db: Sql): (seq: number) => Operation<void> {
  const clearNewest = db.prepare(
    `UPDATE messages SET ${clearAssignments} WHERE seq = ? AND seq = (SELECT max(seq) FROM messages)`,
  )
  const deleteEntry = db.prepare('DELETE FROM messages WHERE seq = ?')
  const deleteTranscriptRows = createTranscriptRowRemoval(db)
  return function* (seq) {
    yield* deleteTranscriptRows(seq)
    if ((yield* clearNewest.change(seq)) === 0) deleteEntry.run(seq)
  }
}

interface TranscriptRowKey {
  readonly thread: number
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
}

/** Prepares the deletion of an entry's references in transcript threads, with their names. It runs inside a write before the row of the entry is deleted. */
function createTranscriptRowRemoval(db: Sql): (seq: number) => Operation<void> {
  const list = db.prepare<TranscriptRowKey>(
    `SELECT x.thread, x.seq, x.entry_id, e.native_id FROM messages e JOIN transcript_bindings b ON b.store_thread = e.thread_id
       JOIN transcript_entries x ON x.thread = b.thread AND x.store_seq = e.seq WHERE e.seq = ?`,
  )
  const deleteName = db.prepare('DELETE FROM transcript_entry_names WHERE thread = ? AND name = ? AND seq = ?')
  const deleteRow = db.prepare('DELETE FROM transcript_entries WHERE thread = ? AND seq = ?')
  return function* (seq) {
    for (const row of yield* list.all(seq)) {
      const names = [nameEntry(row), ...(row.native_id === null ? [] : [nameNative('normalized', row.native_id)])]
      for (const name of names) deleteName.run(row.thread, name, row.seq)
      deleteRow.run(row.thread, row.seq)
    }
  }
}
