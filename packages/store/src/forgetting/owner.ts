import { rememberedKind } from '@postern/core'
import { createEntryRemoval } from '../conversations/entry-removal.ts'
import type { Sql } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createClaimRemoval } from '../peers/claims.ts'
import type { RemoveMessageDeps } from './remove-message.ts'
import { createRemoveMessage } from './remove-message.ts'
import { createThreadRows } from './thread-rows.ts'

export interface OwnerForgetting {
  /**
   * All that was said in the conversations that are an owner's own, be it under way or the newest there is: whoever works on it is broken off.
   * Durable when it resolves. @returns how many runs there were
   */
  forgetTasks(owner: string): Promise<number>
}

/** Messages taken out in one transaction, so that others get their turn. */
const sliceSize = 100

/** Prepared when somebody is forgotten: its statements read whole tables. An index for something so rare would cost every message. */
export function createOwnerForgetting(context: StoreContext, tables: RemoveMessageDeps): OwnerForgetting {
  let opened: OwnerForgetting['forgetTasks'] | undefined
  return {
    forgetTasks(owner) {
      opened ??= openForgetting(context, tables)
      return opened(owner)
    },
  }
}

function openForgetting(
  { db, write, now, scrub }: StoreContext,
  tables: RemoveMessageDeps,
): OwnerForgetting['forgetTasks'] {
  const listThreads = db.prepare<{ id: number }>('SELECT id FROM threads WHERE scope = ?')
  const listMessages = db.prepare<{ number: number; person: string }>(
    `SELECT seq AS number, channel || ' ' || lower(json_extract(envelope, '$.sender.address')) AS person FROM messages
     WHERE kind = 'message' AND (thread_id IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
       OR task_id IN (SELECT id FROM tasks WHERE owner = ?2)) ORDER BY seq DESC LIMIT +?3`,
  )
  const endRecords = db.prepare('DELETE FROM records WHERE person IN (SELECT value FROM json_each(?))')
  const endRemembered = db.prepare(
    `DELETE FROM records WHERE kind = '${rememberedKind}' AND json_extract(value, '$.subject') = ?`,
  )
  const countTasks = db.prepare<{ count: number }>('SELECT count(*) AS count FROM tasks WHERE owner = ?')
  const removeMessage = createRemoveMessage(db, tables)
  const removeClaims = createClaimRemoval(db)
  const endTasks = createTaskRemoval(db, tables)
  const endThreads = createThreadRemoval(db)

  function removeSlice(owner: string): Promise<number> {
    return write(batch => {
      const threads = JSON.stringify(listThreads.all(owner).map(({ id }) => id))
      const messages = listMessages.all(threads, owner, sliceSize)
      for (const { number } of messages) removeMessage(batch, number, now())
      const keys = [...new Set(messages.map(({ person }) => person))]
      endRecords.run(JSON.stringify(keys))
      removeClaims(keys.map(key => key.slice(key.indexOf(' ') + 1)))
      return messages.length
    })
  }

  /** Undefined when somebody has spoken meanwhile: what they said goes first. */
  function removePlaces(owner: string): Promise<number | undefined> {
    return write(() => {
      const threads = JSON.stringify(listThreads.all(owner).map(({ id }) => id))
      if (listMessages.all(threads, owner, 1).length > 0) return undefined
      const removed = endTasks(owner)
      endThreads(threads)
      removeClaims([owner])
      endRemembered.run(owner.replace(/^web:/, ''))
      return removed
    })
  }

  return async owner => {
    // The tasks of messages go with them.
    const tasks = countTasks.get(owner)?.count ?? 0
    for (;;) {
      while ((await removeSlice(owner)) > 0);
      const removed = await removePlaces(owner)
      if (removed === undefined) continue
      scrub()
      return Math.max(tasks, removed)
    }
  }
}

/** What is left of tasks, once their messages are gone. @returns how many there were */
function createTaskRemoval(db: Sql, { tasks }: Pick<RemoveMessageDeps, 'tasks'>): (owner: string) => number {
  const listTasks = db.prepare<{ id: number }>('SELECT id FROM tasks WHERE owner = ?')
  const listEntries = db.prepare<{ seq: number }>('SELECT seq FROM messages WHERE task_id = ?')
  const endEntry = createEntryRemoval(db)
  const ends = [
    'UPDATE messages SET task_id = NULL WHERE task_id = ?',
    'DELETE FROM push_subscriptions WHERE task_id = ?',
  ].map(sql => db.prepare(sql))
  return owner => {
    const all = listTasks.all(owner)
    for (const { id } of all) {
      for (const { seq } of listEntries.all(id)) endEntry(seq)
      for (const end of ends) end.run(id)
      tasks.remove(id)
    }
    return all.length
  }
}

function createThreadRemoval(db: Sql): (threads: string) => void {
  const inList = '(SELECT CAST(value AS INTEGER) FROM json_each(?))'
  const listEntries = db.prepare<{ seq: number }>(
    `SELECT seq FROM messages WHERE scope <> 'forgotten' AND thread_id IN ${inList}`,
  )
  const endEntry = createEntryRemoval(db)
  const rows = createThreadRows(db)
  return threads => {
    for (const { seq } of listEntries.all(threads)) endEntry(seq)
    rows.endMemory(threads)
    rows.endPlace(threads)
  }
}
