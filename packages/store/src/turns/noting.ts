import type { LookupStore, NoteBody, WorkStore } from '@postern/core'
import { isOthersChat } from '../conversations/person-words.ts'
import { saidToSome } from '../conversations/private-answers.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'
import { refuseLostLease } from '../engine/lease.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { touchedThread } from '../together/touched.ts'
import type { NoteTable } from './note-table.ts'
import { draftNote } from './note-table.ts'

/** What is noted while a turn goes on. */
export function createNoting(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'note'> {
  const findHeld = prepareQuery<{ thread_id: number }>(
    db,
    'SELECT thread_id FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  return {
    async note(turn, notes) {
      const { message, token, task, content, thread } = turn
      const drafts = notes.map(note => draftNote(note, content.recipient))
      const size = drafts.reduce((sum, draft) => sum + draft.content.length, 0)
      const held = await write(
        batch => {
          const row = findHeld.get(message, token)
          if (row) table.keep(batch, drafts, { message, thread: row.thread_id, owner: task?.owner })
          return row ? 1 : 0
        },
        { size, touches: () => [touchedThread(thread)] },
      )
      refuseLostLease(held, `turn ${message}`)
    },
  }
}

interface KeptRow {
  readonly seq: number
  readonly entry_id: string
  readonly answers: number
  readonly at: string
  readonly content: string
}

/** Words that were broken off, and stages, are nobody's notes. */
const isNoted = "json_extract(content, '$.kind') NOT IN ('text', 'activity')"

/** Nothing of turns whose answer was for some only, or that somebody else began from their chat, in a thread that others read and write, too. */
export function createNoteLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readNotes'> {
  const read = prepareQuery<KeptRow>(
    db,
    `SELECT seq, entry_id, answers, at, content FROM messages e WHERE scope = 'trace' AND thread_id = ?1 AND answers < ?2
       AND ${isNoted}
       AND NOT EXISTS (SELECT 1 FROM messages r JOIN threads t ON t.id = r.thread_id
         WHERE r.kind = 'response' AND r.answers = e.answers AND ${saidToSome('r')}) AND NOT ${isOthersChat('?3', channels)}
     ORDER BY answers DESC, seq DESC LIMIT +?4`,
  )
  return {
    readNotes: async ({ thread, before, limit, speakers = [] }) =>
      read
        .all(thread, before, formatJson(speakers), limit)
        .reverse()
        .map(({ seq, entry_id: entryId, answers: message, at, content }) => {
          return { seq, entryId, message, at, body: parseJson<NoteBody>(content) }
        }),
  }
}
