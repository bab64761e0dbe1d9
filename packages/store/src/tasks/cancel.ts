import type { TaskStore } from '@postern/core'
import type { NewDelivery } from '../deliveries/table.ts'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { OpenTurn } from '../turns/open-turn.ts'
import { openTurnColumns } from '../turns/open-turn.ts'
import type { TurnTable } from '../turns/table.ts'
import type { WatchTable } from './watches.ts'

/** Ends a task and all its open turns, whoever holds them; threads go on behind them. */
export function createCancel(
  { db, write, now }: StoreContext,
  { turns, watches }: { readonly turns: TurnTable; readonly watches: WatchTable },
): TaskStore['cancelTask'] {
  const cancel = prepareQuery<{ id: number }>(
    db,
    `UPDATE tasks SET state = 'canceled', updated_at = ?
     WHERE owner = ? AND native_id = ? AND state IN ('submitted', 'working', 'input_required', 'auth_required') RETURNING id`,
  )
  const findLast = prepareQuery<Omit<NewDelivery, 'response' | 'now'>>(
    db,
    `SELECT seq AS message, thread_id AS thread, agent, channel FROM messages
     WHERE seq = (SELECT max(seq) FROM messages WHERE task_id = ? AND kind = 'message')`,
  )
  const findOpen = prepareQuery<OpenTurn>(
    db,
    `SELECT ${openTurnColumns} FROM turns WHERE task_id = ? AND ended_at IS NULL ORDER BY message`,
  )
  return ({ owner, id }) =>
    write(batch => {
      const task = cancel.get(now(), owner, id)
      if (!task) return false
      const open = findOpen.all(task.id)
      for (const turn of open) turns.cancel(batch, turn, now())
      const last = findLast.get(task.id)
      if (last) watches.tell(batch, task.id, { ...last, response: undefined, now: now() })
      for (const thread of new Set(open.map(turn => turn.thread_id))) turns.promoteNext(batch, thread, now())
      return true
    })
}
