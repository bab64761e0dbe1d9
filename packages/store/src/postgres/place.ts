import type { createLockstep } from '../together/lockstep.ts'
import type { Sequences } from './connection/numbering.ts'
import type { StepResult } from './connection/pipelined-run.ts'
import type { PendingStatement, StatementSession } from './connection/statement-session.ts'

/** Where an operation asks. */
export interface StatementPlace {
  readonly session: StatementSession
  /** For a row that it inserts. */
  nextNumber(table: string): number
}

/** What statements and transactions of one database share. */
export interface DatabaseParts {
  readonly lockstep: ReturnType<typeof createLockstep<StatementPlace>>
  readonly sequences: Sequences
  /** Of the running operation. */
  resultOf(pending: PendingStatement): StepResult
}
