import type { WorkStore } from '@postern/core'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { touchedThread } from '../together/touched.ts'
import type { NoteTable } from './note-table.ts'
import { draftNote } from './note-table.ts'

/** What was heard of answers that were broken off. */
export function createStreamedAnswers(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'keepStreamed'> {
  const findCanceled = prepareQuery<{ thread_id: number }>(
    db,
    `SELECT t.thread_id FROM turns t JOIN tasks k ON k.id = t.task_id AND k.state = 'canceled'
     WHERE t.message = ? AND t.lease_token = ? AND t.ended_at IS NOT NULL`,
  )
  return {
    async keepStreamed({ message, token, task, content, thread }, note) {
      const draft = draftNote(note, content.recipient)
      await write(
        batch => {
          const row = findCanceled.get(message, token)
          if (row) table.keep(batch, [draft], { message, thread: row.thread_id, owner: task?.owner })
          // Whoever looked for the next turn of the thread meanwhile has passed it over.
          batch.readyWork.add('turns')
        },
        { size: draft.content.length, touches: () => [touchedThread(thread)] },
      )
    },
  }
}
