import type { MessageState, TaskDesk } from '@postern/core'
import type { Batch } from './batch.ts'
import { moveTotal } from './batch.ts'
import { prepareQuery } from './database.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface OpenTurn {
  readonly message: number
  readonly thread_id: number
  readonly state: MessageState
}

/** Ends a task and all its open turns, whoever holds them; threads go on behind them. */
export function createCancel({ db, write, now }: Store, { turns }: Tables): TaskDesk['cancelTask'] {
  const cancel = prepareQuery<{ id: number }>(
    db,
    `UPDATE tasks SET state = 'canceled', updated_at = ?
     WHERE owner = ? AND native_id = ? AND state IN ('submitted', 'working', 'input_required') RETURNING id`,
  )
  const findOpen = prepareQuery<OpenTurn>(
    db,
    'SELECT message, thread_id, state FROM turns WHERE task_id = ? AND ended_at IS NULL',
  )
  const end = prepareQuery(
    db,
    `UPDATE turns SET state = 'failed', error = 'canceled', due_at = NULL, holder = NULL, ended_at = ?
     WHERE message = ?`,
  )

  function endTurn(batch: Batch, { message, state }: OpenTurn): void {
    end.run(now(), message)
    moveTotal(batch, `messages.${state}`, 'messages.failed')
    batch.notices.push({ topic: `message:${message}`, payload: { kind: 'canceled' } })
  }

  return ({ owner, id }) =>
    write(batch => {
      const task = cancel.get(now(), owner, id)
      if (!task) return false
      const open = findOpen.all(task.id)
      for (const turn of open) endTurn(batch, turn)
      for (const thread of new Set(open.map(turn => turn.thread_id))) turns.promoteNext(batch, thread, now())
      return true
    })
}
