// Merges turns of a speaker, so that one answer covers them.
import type { MessageState } from '@postern/pipeline'
import { mergeBounds } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { moveTotal } from '../../transaction/totals.ts'

/** The columns of `LeasableTurn`. */
export const leasableColumns =
  'message, agent, thread_id, task_id, state, lease_token, attempt, tried_at, crash_count, mode, speaker, revision'

/** The row of a turn that is about to be leased. */
export interface LeasableTurn {
  readonly message: number
  readonly agent: string
  readonly thread_id: number
  readonly task_id: number | null
  readonly state: MessageState
  readonly lease_token: number
  readonly attempt: number
  readonly tried_at: number | null
  readonly crash_count: number
  readonly mode: string | null
  readonly speaker: string | null
  readonly revision: number
}

interface Follower extends LeasableTurn {
  readonly size: number
  /** The owner of the turn's task. */
  readonly owner: string | null
}

/** An earlier turn whose message is covered by the answer of a later turn. */
export interface MergedTurn {
  readonly message: number
  readonly task_id: number | null
}

/** Merges turns and lists merged turns. The members are operations of a write. */
interface TurnMerging {
  /**
   * Merges a due turn that was never leased with the turns of the same speaker directly after it, within `mergeBounds`. Returns the last of these turns,
   * which represents all of them.
   */
  mergeFollowers(batch: Batch, due: LeasableTurn): Operation<LeasableTurn>
  /** Lists the turns that are merged into a turn, the oldest first. */
  listMerged(message: number): Operation<readonly MergedTurn[]>
}

export function createTurnMerging(db: Sql): TurnMerging {
  const listFollowers = db.prepare<Follower>(
    `SELECT ${leasableColumns}, (SELECT octet_length(m.content) FROM messages m WHERE m.seq = turns.message) AS size,
       (SELECT k.owner FROM tasks k WHERE k.id = turns.task_id) AS owner
     FROM turns INDEXED BY turns_open WHERE thread_id = ? AND ended_at IS NULL AND message >= ? ORDER BY message LIMIT ${mergeBounds.messages}`,
  )
  const merge = db.prepare("UPDATE turns SET merged_into = ?, due_at = NULL, state = 'working' WHERE message = ?")
  const findMerged = db.prepare<MergedTurn>(
    'SELECT message, task_id FROM turns WHERE merged_into = ? AND ended_at IS NULL ORDER BY message',
  )
  return {
    *mergeFollowers(batch, due) {
      if (due.mode !== 'merge' || due.lease_token > 0) return due
      const mergeable = selectMergeable(yield* listFollowers.all(due.thread_id, due.message))
      const lastTurn = mergeable.at(-1)
      if (!lastTurn || lastTurn.message === due.message) return due
      for (const { message, state } of mergeable.slice(0, -1)) {
        merge.run(lastTurn.message, message)
        moveTotal(batch, `messages.${state}`, 'messages.working')
      }
      return lastTurn
    },
    listMerged: message => findMerged.all(message),
  }
}

/** Returns the first turn and the following turns that can be merged with it. */
function selectMergeable(openTurns: readonly Follower[]): readonly Follower[] {
  const [firstTurn] = openTurns
  if (!firstTurn) return []
  let bytes = 0
  const end = openTurns.findIndex((turn, index) => {
    bytes += turn.size
    return index > 0 && (!isMergeable(turn, firstTurn) || bytes > mergeBounds.bytes)
  })
  return end === -1 ? openTurns : openTurns.slice(0, end)
}

/** Returns true if a turn can be merged with the first turn. Their tasks may differ but must have the same owner. */
function isMergeable(turn: Follower, firstTurn: Follower): boolean {
  return (
    turn.mode === 'merge' &&
    turn.lease_token === 0 &&
    turn.speaker === firstTurn.speaker &&
    turn.owner === firstTurn.owner
  )
}
