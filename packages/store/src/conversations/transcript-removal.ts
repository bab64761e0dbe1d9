import { nameEntry, nameNative } from '@postern/transcript'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'

interface SaidLine {
  readonly thread: number
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
}

/** Before something said is deleted at the store: takes out its lines in the threads that read it there, with the names that lead to them. Synchronous: inside a write. */
export function createSaidRemoval(db: Database): (seq: number) => void {
  const list = prepareQuery<SaidLine>(
    db,
    `SELECT x.thread, x.seq, x.entry_id, e.native_id FROM messages e JOIN transcript_bindings b ON b.store_thread = e.thread_id
       JOIN transcript_entries x ON x.thread = b.thread AND x.store_seq = e.seq WHERE e.seq = ?`,
  )
  const endName = prepareQuery(db, 'DELETE FROM transcript_entry_names WHERE thread = ? AND name = ? AND seq = ?')
  const endLine = prepareQuery(db, 'DELETE FROM transcript_entries WHERE thread = ? AND seq = ?')
  return seq => {
    for (const line of list.all(seq)) {
      const names = [nameEntry(line), ...(line.native_id === null ? [] : [nameNative('normalized', line.native_id)])]
      for (const name of names) endName.run(line.thread, name, line.seq)
      endLine.run(line.thread, line.seq)
    }
  }
}
