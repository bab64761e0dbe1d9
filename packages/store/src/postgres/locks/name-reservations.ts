// Reserves names for running operations, and numbers their messages in the order of the locks.
import { isThreadConflict } from '../../batching/conflict-keys.ts'
import type { OperationRunner } from '../../batching/operation-runner.ts'
import type { createRowNumbering } from '../connection/numbering.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import type { PendingStatement } from '../connection/statement-session.ts'
import type { NamedLocks } from './named-locks.ts'

/** Reserves the names that operations request while they run, and numbers the rows that they insert. */
export interface NameReservations {
  readonly locks: NamedLocks
  /** Returns `run` as an operation that may reserve names and may run several times. */
  createOperation<T>(run: (reserve: (name: string) => void) => T): () => T
  /** Returns the number of a row that the running operation inserts. */
  nextNumber(table: string): number
}

interface NameReservationDeps {
  readonly locks: NamedLocks
  readonly runner: Pick<OperationRunner<unknown>, 'reserve' | 'nextStep'>
  /** Returns the result of a statement of the running operation. */
  readResult(pending: PendingStatement): StepResult
  readonly numbering: ReturnType<typeof createRowNumbering>
}

interface RunningOperation {
  /** The numbers for messages of the operation. Each was drawn after a lock that the operation has reserved, unlike the numbers of the transaction. */
  readonly numbers: PendingStatement[]
}

const reserveStepId = -3

export function createNameReservations({
  locks,
  runner,
  readResult,
  numbering,
}: NameReservationDeps): NameReservations {
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
    createOperation(run) {
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
      if (!firstNumber) return numbering.takeNumber(table)
      const rowNumber = Number(readResult(firstNumber).rows[0]?.number)
      runningOperation?.numbers.shift()
      return rowNumber
    },
  }
}
