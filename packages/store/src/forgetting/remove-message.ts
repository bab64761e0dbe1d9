// Deletes a message with everything that depends on it.
import type { BlobTable } from '../blobs/blob-table.ts'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import { createRowRemoval } from '../messages/row-removal.ts'
import type { HandledKeyTable } from '../peers/handled-keys.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { TaskTable } from '../tasks/task-table.ts'
import { createTaskByteTracker } from '../tasks/task-table.ts'
import type { Batch } from '../transaction/batch.ts'
import type { ForgetMessage } from './forget-message.ts'

/** Deletes a message with its answer and everything that it caused, and aborts its running turn. @returns the thread of the message, if the message exists */
export type RemoveMessage = (batch: Batch, message: number, now: number) => Operation<number | undefined>

export interface RemoveMessageDeps {
  readonly channels: ChannelFacts
  readonly forget: ForgetMessage
  readonly blobs: BlobTable
  readonly handledKeys: HandledKeyTable
  readonly tasks: TaskTable
}

export function createRemoveMessage(
  db: Sql,
  { channels, forget, blobs, handledKeys, tasks }: RemoveMessageDeps,
): RemoveMessage {
  const find = db.prepare<RemovedMessage>(
    `SELECT m.thread_id, m.task_id, m.native_id AS id, m.object, m.agent, m.channel, m.principal, t.scope FROM messages m JOIN threads t ON t.id = m.thread_id
     WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const deleteName = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 0',
  )
  const unlist = db.prepare(
    "UPDATE messages SET is_listed = 0 WHERE kind = 'response' AND answers = ? AND is_listed = 1",
  )
  const deleteRows = createRowRemoval(db, { blobs, handledKeys })
  const deleteEmptyTask = createEmptyTaskRemoval(db, tasks)
  const addShareChange = createTaskByteTracker(db)
  function* removeOne(batch: Batch, message: number, removedMessage: RemovedMessage, now: number): Operation<void> {
    // Forgetting ends the turn and the deliveries of the message, so that the next turns and deliveries of its thread follow.
    yield* forget(batch, message, now, { isRemoved: true })
    unlist.run(message)
    const { id, object, agent, channel, principal, scope } = removedMessage
    const { responses } = yield* deleteRows(batch, message, now)
    for (const name of [id, object, ...responses.map(response => response.id)]) {
      if (name !== null) deleteName.run(name, agent, channel, scope)
    }
    // The names of a message from a chat are stored in the scope of its principal.
    if (principal !== null) for (const chat of channels.chats) deleteName.run(id, agent, chat, principal)
    if (removedMessage.task_id !== null) yield* deleteEmptyTask(removedMessage.task_id)
  }
  return function* (batch, message, now) {
    const removedMessage = yield* find.get(message)
    if (removedMessage) yield* addShareChange(batch, message, () => removeOne(batch, message, removedMessage, now))
    return removedMessage?.thread_id
  }
}

/** Prepares the correction of a task after a deletion. A task whose last answer was deleted loses its reference to it, and a task without messages is deleted. */
function createEmptyTaskRemoval(db: Sql, tasks: TaskTable): (task: number) => Operation<void> {
  const clearResponse = db.prepare(
    "UPDATE tasks SET response_seq = NULL WHERE id = ? AND response_seq NOT IN (SELECT seq FROM messages WHERE seq = response_seq AND kind = 'response')",
  )
  const selectRemaining = db.prepare("SELECT 1 FROM messages WHERE task_id = ? AND scope <> 'forgotten' LIMIT 1")
  const clearTask = db.prepare('UPDATE messages SET task_id = NULL WHERE task_id = ?')
  const deleteSubscriptions = db.prepare('DELETE FROM push_subscriptions WHERE task_id = ?')
  return function* (task) {
    clearResponse.run(task)
    if (yield* selectRemaining.get(task)) return
    clearTask.run(task)
    deleteSubscriptions.run(task)
    yield* tasks.remove(task)
  }
}

interface RemovedMessage {
  readonly thread_id: number
  readonly task_id: number | null
  readonly id: string
  /** The author's id of the object, such as a post. */
  readonly object: string | null
  readonly agent: string
  readonly channel: string
  readonly principal: string | null
  /** The scope of its thread. The same ids in other scopes refer to other messages. */
  readonly scope: string
}
