import type { MessageState, TurnAborted } from '@postern/core'
import type { Batch } from '../engine/batch.ts'

/** Why a turn ends without an answer. */
export type EndingReason = Exclude<TurnAborted['kind'], 'shutting_down' | 'edited'>

export interface OpenTurn {
  readonly message: number
  readonly thread_id: number
  readonly state: MessageState
  readonly merged_into: number | null
}

export const openTurnColumns = 'message, thread_id, state, merged_into'

/** Ends an open turn, whoever holds it; the next of its thread is still to be promoted. */
export type CancelTurn = (batch: Batch, turn: OpenTurn, now: number, reason?: EndingReason) => void
