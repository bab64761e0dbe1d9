import type { MessageState } from '@postern/core'
import { mergeBounds } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import { moveTotal } from '../engine/database.ts'

/** A turn that is due, as far as it matters with what it is put together. */
export interface Gatherable {
  readonly message: number
  readonly thread_id: number
  readonly task_id: number | null
  readonly mode: string | null
  readonly speaker: string | null
  readonly lease_token: number
}

interface Follower extends Gatherable {
  readonly state: MessageState
  readonly size: number
}

/** What is answered together. Synchronous: inside a write. */
interface Gathering {
  /**
   * Of a due turn that nobody has begun yet, and those of the same speaker that stand directly behind it in the line, makes one:
   * the last one's, whose number is given; `mergeBounds` says how many.
   */
  gather(batch: Batch, due: Gatherable): number
  /** The earlier messages that a turn answers, too, oldest first. */
  listMerged(message: number): readonly number[]
}

export function createGathering(db: Sql): Gathering {
  const findLine = db.prepare<Follower>(
    `SELECT t.message, t.thread_id, t.task_id, t.mode, t.speaker, t.lease_token, t.state, octet_length(m.content) AS size
     FROM turns t INDEXED BY turns_open JOIN messages m ON m.seq = t.message
     WHERE t.thread_id = ? AND t.ended_at IS NULL AND t.message >= ? ORDER BY t.message LIMIT ${mergeBounds.messages}`,
  )
  const merge = db.prepare("UPDATE turns SET merged_into = ?, due_at = NULL, state = 'working' WHERE message = ?")
  const findMerged = db.prepare<{ message: number }>(
    'SELECT message FROM turns WHERE merged_into = ? AND ended_at IS NULL ORDER BY message',
  )
  return {
    gather(batch, due) {
      if (due.mode !== 'merge' || due.lease_token > 0) return due.message
      const together = takeTogether(findLine.all(due.thread_id, due.message))
      const last = together.at(-1)
      if (!last || last.message === due.message) return due.message
      for (const { message, state } of together.slice(0, -1)) {
        merge.run(last.message, message)
        moveTotal(batch, `messages.${state}`, 'messages.working')
      }
      return last.message
    },
    listMerged: message => findMerged.all(message).map(merged => merged.message),
  }
}

/** The first of a line and those behind it that belong to it, as many as fit. */
function takeTogether(line: readonly Follower[]): readonly Follower[] {
  const [first] = line
  if (!first) return []
  let bytes = 0
  const end = line.findIndex((turn, at) => {
    bytes += turn.size
    return at > 0 && (!isAlike(turn, first) || bytes > mergeBounds.bytes)
  })
  return end === -1 ? line : line.slice(0, end)
}

function isAlike(turn: Gatherable, first: Gatherable): boolean {
  return (
    turn.mode === 'merge' && turn.lease_token === 0 && turn.speaker === first.speaker && turn.task_id === first.task_id
  )
}
