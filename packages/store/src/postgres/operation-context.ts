// Declares the context in which an operation on PostgreSQL runs its statements.
import type { createOperationRunner } from '../batching/operation-runner.ts'
import type { Sequences } from './connection/numbering.ts'
import type { StepResult } from './connection/pipelined-run.ts'
import type { PendingStatement, StatementSession } from './connection/statement-session.ts'

/** The session and the numbers that an operation uses. */
export interface OperationContext {
  readonly session: StatementSession
  /** Returns the number of a row that the operation inserts. */
  nextNumber(table: string): number
}

/** Dependencies that statements and transactions of one database share. */
export interface DatabaseDeps {
  readonly runner: ReturnType<typeof createOperationRunner<OperationContext>>
  readonly sequences: Sequences
  /** Returns the result of a statement of the running operation. */
  readResult(pending: PendingStatement): StepResult
}
