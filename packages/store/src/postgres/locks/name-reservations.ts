// Reserves names during a transaction.
import { isThreadConflict } from '../../batching/conflict-keys.ts'
import type { OperationRunner } from '../../batching/operation-runner.ts'
import type { createRowNumbering } from '../connection/numbering.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import type { PendingStatement } from '../connection/statement-session.ts'
import type { NamedLocks } from './named-locks.ts'

/** The names that operations reserve while they run, and the numbers of the rows that they insert. */
export interface NameReservations {
  readonly locks: NamedLocks
  /** Turns `run` into an operation that may reserve names and may run several times. */
  enclose<T>(run: (reserve: (name: string) => void) => T): () => T
  /** Returns the number for a row that the running operation inserts. */
  nextNumber(table: string): number
}

interface NameReservationDeps {
  readonly locks: NamedLocks
  readonly runner: Pick<OperationRunner<unknown>, 'reserve' | 'nextStep'>
  /** Returns the result of a statement of the running operation. */
  resultOf(pending: PendingStatement): StepResult
  readonly numbering: ReturnType<typeof createRowNumbering>
}

interface RunningOperation {
  /** Numbers for its messages, each drawn after a lock that the operation has reserved. The numbers of the transaction are older than that lock. */
  readonly numbers: PendingStatement[]
}

const reserveStepId = -3

export function createNameReservations({ locks, runner, resultOf, numbering }: NameReservationDeps): NameReservations {
  let runningOperation: RunningOperation | undefined

  function reserveGlobally(name: string): void {
    const pendingStatement = locks.reserve(name)
    if (!pendingStatement || !runningOperation) return
    // A number that was drawn before the lock of its thread could become visible after a higher one.
    if (isThreadConflict(name)) runningOperation.numbers.length = 0
    runningOperation.numbers.push(pendingStatement)
  }

  return {
    locks,
    enclose(run) {
      const operation: RunningOperation = { numbers: [] }
      const reserve = (name: string) => {
        runner.reserve(name)
        runner.nextStep(reserveStepId, () => reserveGlobally(name))
      }
      return () => {
        const previousOperation = runningOperation
        runningOperation = operation
        try {
          return run(reserve)
        } finally {
          runningOperation = previousOperation
        }
      }
    },
    nextNumber(table) {
      const [firstNumber] = table === 'messages' ? (runningOperation?.numbers ?? []) : []
      if (!firstNumber) return numbering.next(table)
      const rowNumber = Number(resultOf(firstNumber).rows[0]?.number)
      runningOperation?.numbers.shift()
      return rowNumber
    },
  }
}
