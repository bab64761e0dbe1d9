// Declares the limit on calls to other agents that one message causes.

import type { Turn } from '../records/work/turn.ts'

/** A turn that calls other agents. */
export type CallingTurn = Pick<Turn, 'message' | 'token' | 'content'>

/** A limit on the calls to other agents that one message causes. */
export interface CallBudget {
  /** Counts one call of a turn. @throws Rejection `forbidden` if the first message of these calls has used up its budget */
  consume(turn: CallingTurn): void
}
