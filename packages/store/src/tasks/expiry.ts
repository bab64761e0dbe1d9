import type { TaskExpiry, TaskStore } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import { createOwnThreadRemoval } from '../conversations/own-thread-removal.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addTaskBytes } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createTaskBytes } from '../engine/task-bytes.ts'
import { createRowRemoval } from '../messages/row-removal.ts'
import type { NoteTable } from '../turns/note-table.ts'
import type { TaskTable } from './table.ts'

/** Messages taken out in one transaction at most, so that others get their turn. */
const mostMessages = 200

interface TaskPlace {
  readonly id: number
  readonly owner: string
}

export interface ExpiryDeps {
  readonly blobs: BlobTable
  readonly notes: NoteTable
  readonly tasks: TaskTable
}

/** Takes whole tasks out, with all that was said in them: slice by slice, the oldest first. */
export function createTaskExpiry({ db, write }: StoreContext, tables: ExpiryDeps): Pick<TaskStore, 'expireTasks'> {
  const findNext = createNextFinder(db)
  const findMessages = db.prepare<{ seq: number }>(
    "SELECT seq FROM messages WHERE task_id = ? AND kind = 'message' LIMIT +?",
  )
  // A task whose messages are gone in part shows no answer any more.
  const disown = db.prepare('UPDATE tasks SET response_seq = NULL WHERE id = ? AND response_seq IS NOT NULL')
  const removeMessage = createMessageRemoval(db, tables)
  const removeTask = createTaskRemoval(db, tables.tasks)
  const taskBytes = createTaskBytes(db)
  const isEnough = (batch: Batch, expiry: TaskExpiry) =>
    'bytes' in expiry && taskBytes.read(batch, expiry.owner) <= expiry.bytes

  function removeOne(batch: Batch, task: TaskPlace, room: number): number {
    const messages = findMessages.all(task.id, room)
    disown.run(task.id)
    const threads = new Set(messages.map(({ seq }) => removeMessage(batch, seq)))
    if (messages.length < room) removeTask(batch, task, threads)
    return messages.length
  }

  return {
    expireTasks: expiry =>
      write(batch => {
        const next = isEnough(batch, expiry) ? [] : findNext(expiry)
        let room = mostMessages
        let removed = 0
        for (const task of next) {
          room -= removeOne(batch, task, room)
          if (room <= 0) return { removed, isDone: false }
          removed += 1
          if (isEnough(batch, expiry)) return { removed, isDone: true }
        }
        return { removed, isDone: next.length < expiry.limit }
      }),
  }
}

/** Nobody works on it or is still to be told of it. The newest entry stays, so that its number is not given again. */
const isRemovable = `t.state NOT IN ('submitted', 'working')
  AND NOT EXISTS (SELECT 1 FROM turns w WHERE w.task_id = t.id AND w.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM messages e JOIN deliveries d ON d.message = e.seq
    WHERE e.task_id = t.id AND e.kind = 'message' AND d.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM messages e WHERE e.task_id = t.id AND e.seq = (SELECT max(seq) FROM messages))`

/** Chats of people are kept until they are forgotten. */
const lastingOwner = 'web:'

function createNextFinder(db: Sql): (expiry: TaskExpiry) => readonly TaskPlace[] {
  const findOldest = db.prepare<TaskPlace>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.updated_at < ? AND t.owner NOT GLOB '${lastingOwner}*' AND ${isRemovable}
     ORDER BY t.updated_at LIMIT +?`,
  )
  const findBeyond = db.prepare<TaskPlace>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.owner = ?1 AND (t.updated_at, t.native_id) <= (SELECT updated_at, native_id
       FROM tasks WHERE owner = ?1 ORDER BY updated_at DESC, native_id DESC LIMIT 1 OFFSET +?2)
       AND ${isRemovable} ORDER BY t.updated_at, t.native_id LIMIT +?3`,
  )
  const findOldestOf = db.prepare<TaskPlace>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.owner = ? AND ${isRemovable} ORDER BY t.updated_at, t.native_id LIMIT +?`,
  )
  return expiry => {
    if ('before' in expiry) return findOldest.all(expiry.before, expiry.limit)
    if ('bytes' in expiry) return findOldestOf.all(expiry.owner, expiry.limit)
    return findBeyond.all(expiry.owner, expiry.most, expiry.limit)
  }
}

interface RemovedMessage {
  readonly id: string
  readonly agent: string
  readonly channel: string
  readonly thread_id: number
  readonly scope: string
  /** Whose task it is of. */
  readonly owner: string | null
  readonly bytes: number
}

/** A message with its answer, its turn and its deliveries. @returns its thread */
function createMessageRemoval(db: Sql, tables: Pick<ExpiryDeps, 'blobs' | 'notes'>) {
  const find = db.prepare<RemovedMessage>(
    `SELECT m.native_id AS id, m.agent, m.channel, m.thread_id, t.scope, k.owner,
       coalesce(octet_length(m.raw), 0) + octet_length(m.content) AS bytes
     FROM messages m JOIN threads t ON t.id = m.thread_id LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.seq = ?`,
  )
  const endRows = createRowRemoval(db, tables)
  const endName = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 0 AND message = ?',
  )
  return (batch: Batch, number: number): number | undefined => {
    const message = find.get(number)
    if (!message) return undefined
    const { id, agent, channel, scope, thread_id, owner, bytes } = message
    const noteBytes = tables.notes.remove(batch, number)
    const { responses, blobBytes } = endRows(batch, number)
    for (const name of [id, ...responses.map(response => response.id)]) endName.run(name, agent, channel, scope, number)
    const answerBytes = responses.reduce((sum, response) => sum + response.bytes, 0)
    if (owner !== null) addTaskBytes(batch, owner, -(bytes + answerBytes + blobBytes + noteBytes))
    return thread_id
  }
}

/** A task without messages; its thread goes with the last of its tasks. */
function createTaskRemoval(db: Sql, tasks: TaskTable) {
  const endEntries = db.prepare<{ thread_id: number; bytes: number }>(
    'DELETE FROM messages WHERE task_id = ? RETURNING thread_id, octet_length(content) AS bytes',
  )
  const endWatches = db.prepare('DELETE FROM push_subscriptions WHERE task_id = ?')
  const removeThread = createOwnThreadRemoval(db)
  return (batch: Batch, { id, owner }: TaskPlace, threads: ReadonlySet<number | undefined>): void => {
    const entries = endEntries.all(id)
    const answered = entries.map(({ thread_id }) => thread_id)
    for (const { bytes } of entries) addTaskBytes(batch, owner, -bytes)
    endWatches.run(id)
    tasks.remove(id)
    for (const thread of new Set([...threads, ...answered])) if (thread !== undefined) removeThread(thread, owner)
  }
}
