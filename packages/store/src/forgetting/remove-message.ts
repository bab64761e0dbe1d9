import type { BlobTable } from '../blobs/table.ts'
import type { ChannelFacts } from '../channels/facts.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { createRowRemoval } from '../messages/row-removal.ts'
import type { TaskTable } from '../tasks/table.ts'
import { createTaskShares } from '../tasks/table.ts'
import type { ForgetMessage } from './forget.ts'

/** Takes a message out with its answer and all it caused; whoever works on it is broken off. @returns its thread, unless there is none */
export type RemoveMessage = (batch: Batch, message: number, now: number) => number | undefined

export interface RemoveMessageDeps {
  readonly channels: ChannelFacts
  readonly forget: ForgetMessage
  readonly blobs: BlobTable
  readonly tasks: TaskTable
}

export function createRemoveMessage(db: Sql, { channels, forget, blobs, tasks }: RemoveMessageDeps): RemoveMessage {
  const find = db.prepare<RemovedMessage>(
    `SELECT m.thread_id, m.task_id, m.native_id AS id, m.object, m.agent, m.channel, m.principal, t.scope FROM messages m JOIN threads t ON t.id = m.thread_id
     WHERE m.seq = ? AND m.kind = 'message'`,
  )
  const endName = db.prepare(
    'DELETE FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 0',
  )
  const unlist = db.prepare(
    "UPDATE messages SET is_listed = 0 WHERE kind = 'response' AND answers = ? AND is_listed = 1",
  )
  const endRows = createRowRemoval(db, { blobs })
  const endTask = createEmptyTaskRemoval(db, tasks)
  const bookChange = createTaskShares(db)
  function removeOne(batch: Batch, message: number, found: RemovedMessage, now: number): void {
    // Ends its turn and its deliveries as if its author had taken it back: what waited behind them goes on.
    forget(batch, message, now)
    unlist.run(message)
    const { id, object, agent, channel, principal, scope } = found
    const { responses } = endRows(batch, message)
    for (const name of [id, object, ...responses.map(response => response.id)]) {
      if (name !== null) endName.run(name, agent, channel, scope)
    }
    // What came from a chat has its names there.
    if (principal !== null) for (const chat of channels.chats) endName.run(id, agent, chat, principal)
    if (found.task_id !== null) endTask(found.task_id)
  }
  return (batch, message, now) => {
    const found = find.get(message)
    if (found) bookChange(batch, message, () => removeOne(batch, message, found, now))
    return found?.thread_id
  }
}

/** Of a task whose last answer is gone there is none to show; without a message there is no task. */
function createEmptyTaskRemoval(db: Sql, tasks: TaskTable): (task: number) => void {
  const disown = db.prepare(
    "UPDATE tasks SET response_seq = NULL WHERE id = ? AND response_seq NOT IN (SELECT seq FROM messages WHERE seq = response_seq AND kind = 'response')",
  )
  const hasWords = db.prepare("SELECT 1 FROM messages WHERE task_id = ? AND scope <> 'forgotten' LIMIT 1")
  const setFree = db.prepare('UPDATE messages SET task_id = NULL WHERE task_id = ?')
  const endWatches = db.prepare('DELETE FROM push_subscriptions WHERE task_id = ?')
  return task => {
    disown.run(task)
    if (hasWords.get(task)) return
    setFree.run(task)
    endWatches.run(task)
    tasks.remove(task)
  }
}

interface RemovedMessage {
  readonly thread_id: number
  readonly task_id: number | null
  readonly id: string
  /** The author's id of what was said. */
  readonly object: string | null
  readonly agent: string
  readonly channel: string
  readonly principal: string | null
  /** Of its thread: what its ids mean elsewhere is not the author’s. */
  readonly scope: string
}
