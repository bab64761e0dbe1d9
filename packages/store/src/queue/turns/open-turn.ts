// Describes a turn that has not ended.
import type { TurnAborted } from '@postern/message'
import type { MessageState } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
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

/** Ends an open turn, even if a worker has leased it. The caller must then make the next turn of the thread ready. */
export type CancelTurn = (batch: Batch, turn: OpenTurn, now: number, reason?: CancelReason) => Operation<void>
