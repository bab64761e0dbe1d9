// Describes a turn that has not ended.
import type { TurnAborted } from '@postern/message'
import type { MessageState } from '@postern/pipeline'
import type { Batch } from '../../transaction/batch.ts'

/** The reasons to end a turn without an answer. `removed` also deletes its rows and its partial answers. */
export type CancelReason = Exclude<TurnAborted['kind'], 'shutting_down' | 'edited'> | 'removed'

/** The row of a turn that has not ended. */
export interface OpenTurn {
  readonly message: number
  readonly thread_id: number
  readonly state: MessageState
  readonly merged_into: number | null
}

export const openTurnColumns = 'message, thread_id, state, merged_into'

/** Ends an open turn, even one that a worker holds. The caller still has to promote the next turn of the thread. */
export type CancelTurn = (batch: Batch, turn: OpenTurn, now: number, reason?: CancelReason) => void
