// Declares the context in which an operation on PostgreSQL runs its statements.
import type { Operation } from '../sql/operation.ts'
import type { Sequences } from './connection/numbering.ts'
import type { StatementSession } from './connection/statement-session.ts'

/** The session and the numbers that an operation uses. */
export interface OperationContext {
  readonly session: Pick<StatementSession, 'add' | 'run'>
  /** Returns the number of a row that the operation inserts. */
  nextNumber(table: string): Operation<number>
}

/** Knows which operation runs, because its statements belong to the session of that operation. */
export interface OperationScope {
  /** @throws Error if no operation runs */
  context(): OperationContext
  /** Runs a step of an operation in its context. */
  enter<T>(context: OperationContext, step: () => T): T
}

export function createOperationScope(): OperationScope {
  let current: OperationContext | undefined
  return {
    context() {
      if (!current) throw new Error('a statement outside an operation')
      return current
    },
    enter(context, step) {
      const previous = current
      current = context
      try {
        return step()
      } finally {
        current = previous
      }
    },
  }
}

/** Dependencies that statements and transactions of one database share. */
export interface DatabaseDeps {
  readonly scope: OperationScope
  readonly sequences: Sequences
}
