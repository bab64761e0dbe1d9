// Deletes expired tasks.
import type { TaskExpiry, TaskStore } from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import type { NoteTable } from '../messages/notes.ts'
import { createRowRemoval, maxRemovals } from '../messages/row-removal.ts'
import type { HandledKeyTable } from '../peers/handled-keys.ts'
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createOwnThreadRemoval } from '../threads/own-thread-removal.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createTaskBytes } from '../transaction/task-totals.ts'
import { addTaskBytes } from '../transaction/totals.ts'
import { formatCancelKey, formatCancelKeySql } from './cancel-events.ts'
import type { TaskTable } from './task-table.ts'

interface TaskPosition {
  readonly id: number
  readonly owner: string
}

export interface ExpiryDeps {
  readonly blobs: BlobTable
  readonly handledKeys: HandledKeyTable
  readonly notes: NoteTable
  readonly tasks: TaskTable
}

/** Creates the function that deletes expired tasks with all their messages, the oldest first and in several transactions. */
export function createTaskExpiry(context: StoreContext, tables: ExpiryDeps): Pick<TaskStore, 'expireTasks'> {
  const { db, write } = context
  const listNext = createNextTaskList(db)
  const findMessages = db.prepare<{ seq: number }>(
    `SELECT seq FROM (SELECT seq FROM messages WHERE task_id = ?1 AND kind = 'message'
       UNION ALL SELECT seq FROM messages WHERE duplicate_key = ?2 AND kind = 'message') AS said LIMIT +?3`,
  )
  // A task that has lost some of its messages no longer shows its answer.
  const clearResponse = db.prepare('UPDATE tasks SET response_seq = NULL WHERE id = ? AND response_seq IS NOT NULL')
  const removeMessage = createMessageRemoval(context, tables)
  const removeTask = createTaskRemoval(db, tables.tasks)
  const taskBytes = createTaskBytes(db)
  function* isWithinBudget(batch: Batch, expiry: TaskExpiry) {
    return 'maxBytes' in expiry && (yield* taskBytes.read(batch, expiry.owner)) <= expiry.maxBytes
  }

  function* removeTaskMessages(batch: Batch, task: TaskPosition, limit: number): Operation<number> {
    const messages = yield* findMessages.all(task.id, formatCancelKey(task.id), limit)
    clearResponse.run(task.id)
    const threads = new Set(yield* mapInOrder(messages, ({ seq }) => removeMessage(batch, seq)))
    if (messages.length < limit) yield* removeTask(batch, task, threads)
    return messages.length
  }

  return {
    expireTasks: expiry =>
      write(function* (batch) {
        const tasks = (yield* isWithinBudget(batch, expiry)) ? [] : yield* listNext(expiry)
        let remaining = maxRemovals
        let removedCount = 0
        for (const task of tasks) {
          remaining -= yield* removeTaskMessages(batch, task, remaining)
          if (remaining <= 0) return { removed: removedCount, isDone: false }
          removedCount += 1
          if (yield* isWithinBudget(batch, expiry)) return { removed: removedCount, isDone: true }
        }
        return { removed: removedCount, isDone: tasks.length < expiry.limit }
      }),
  }
}

/**
 * The condition that a task may be deleted, because it has no open turn and no open delivery. A task with the newest entry stays, because the number
 * of that entry would be reused.
 */
const removableTaskSql = `t.state NOT IN ('submitted', 'working')
  AND NOT EXISTS (SELECT 1 FROM turns w WHERE w.task_id = t.id AND w.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM messages e JOIN deliveries d ON d.message = e.seq
    WHERE e.task_id = t.id AND e.kind = 'message' AND d.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM messages e WHERE e.task_id = t.id AND e.seq = (SELECT max(seq) FROM messages))
  AND NOT EXISTS (SELECT 1 FROM messages c WHERE c.duplicate_key = ${formatCancelKeySql('t.id')} AND (
    EXISTS (SELECT 1 FROM turns w WHERE w.message = c.seq AND w.ended_at IS NULL)
    OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message = c.seq AND d.ended_at IS NULL)
    OR EXISTS (SELECT 1 FROM messages e WHERE (e.seq = c.seq OR e.kind = 'response' AND e.answers = c.seq)
      AND e.seq = (SELECT max(seq) FROM messages))))`

/** The prefix of owners who are people. Chats of people stay until they are deleted explicitly. */
const webOwnerPrefix = 'web:'

function createNextTaskList(db: Sql): (expiry: TaskExpiry) => Operation<readonly TaskPosition[]> {
  const findOldest = db.prepare<TaskPosition>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.updated_at < ? AND t.owner NOT GLOB '${webOwnerPrefix}*' AND ${removableTaskSql}
     ORDER BY t.updated_at LIMIT +?`,
  )
  const selectOverCount = db.prepare<TaskPosition>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.owner = ?1 AND (t.updated_at, t.native_id) <= (SELECT updated_at, native_id
       FROM tasks WHERE owner = ?1 ORDER BY updated_at DESC, native_id DESC LIMIT 1 OFFSET +?2)
       AND ${removableTaskSql} ORDER BY t.updated_at, t.native_id LIMIT +?3`,
  )
  const findOldestOf = db.prepare<TaskPosition>(
    `SELECT t.id, t.owner FROM tasks t WHERE t.owner = ? AND ${removableTaskSql} ORDER BY t.updated_at, t.native_id LIMIT +?`,
  )
  return function* (expiry) {
    if ('unchangedSince' in expiry) return yield* findOldest.all(expiry.unchangedSince, expiry.limit)
    if ('maxBytes' in expiry) return yield* findOldestOf.all(expiry.owner, expiry.limit)
    return yield* selectOverCount.all(expiry.owner, expiry.maxTasks, expiry.limit)
  }
}

interface RemovedMessage {
  readonly id: string
  readonly agent: string
  readonly channel: string
  readonly thread_id: number
  readonly scope: string
  /** The owner of the message's task, or null without a task. */
  readonly owner: string | null
  readonly bytes: number
}

/** Prepares the deletion of a message with its answer, its turn and its deliveries. The deletion returns the thread of the message. */
function createMessageRemoval(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: Pick<ExpiryDeps, 'blobs' | 'handledKeys' | 'notes'>,
) {
  const find = db.prepare<RemovedMessage>(
    `SELECT m.native_id AS id, m.agent, m.channel, m.thread_id, t.scope, k.owner,
       coalesce(octet_length(m.raw), 0) + octet_length(m.content) AS bytes
     FROM messages m JOIN threads t ON t.id = m.thread_id LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.seq = ?`,
  )
  const deleteRows = createRowRemoval(db, tables)
  const deleteName = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 0 AND message = ?',
  )
  return function* (batch: Batch, number: number): Operation<number | undefined> {
    const message = yield* find.get(number)
    if (!message) return undefined
    const { id, agent, channel, scope, thread_id, owner, bytes } = message
    const removedNoteBytes = yield* tables.notes.remove(batch, number)
    const { responses, blobBytes } = yield* deleteRows(batch, number, now())
    for (const name of [id, ...responses.map(response => response.id)])
      deleteName.run(name, agent, channel, scope, number)
    const answerBytes = responses.reduce((sum, response) => sum + response.bytes, 0)
    if (owner !== null) addTaskBytes(batch, owner, -(bytes + answerBytes + blobBytes + removedNoteBytes))
    return thread_id
  }
}

/** Prepares the deletion of a task without messages. A thread is deleted with its last task. */
function createTaskRemoval(db: Sql, tasks: TaskTable) {
  const deleteEntries = db.prepare<{ thread_id: number; bytes: number }>(
    'DELETE FROM messages WHERE task_id = ? RETURNING thread_id, octet_length(content) AS bytes',
  )
  const deleteSubscriptions = db.prepare('DELETE FROM push_subscriptions WHERE task_id = ?')
  const removeThread = createOwnThreadRemoval(db)
  return function* (
    batch: Batch,
    { id, owner }: TaskPosition,
    threads: ReadonlySet<number | undefined>,
  ): Operation<void> {
    const entries = yield* deleteEntries.all(id)
    const threadIds = entries.map(({ thread_id }) => thread_id)
    for (const { bytes } of entries) addTaskBytes(batch, owner, -bytes)
    deleteSubscriptions.run(id)
    yield* tasks.remove(id)
    for (const thread of new Set([...threads, ...threadIds]))
      if (thread !== undefined) yield* removeThread(thread, owner)
  }
}
