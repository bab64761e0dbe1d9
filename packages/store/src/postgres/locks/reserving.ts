// Reserves names during a transaction.
import { isThreadConflict } from '../../together/conflict-keys.ts'
import type { Lockstep } from '../../together/lockstep.ts'
import type { createNumbering } from '../connection/numbering.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import type { PendingStatement } from '../connection/statement-session.ts'
import type { NamedLocks } from './named-locks.ts'

/** The names that operations reserve while they run, and the numbers of the rows that they insert. */
export interface Reserving {
  readonly locks: NamedLocks
  /** Turns `run` into an operation that may reserve names and may run several times. */
  enclose<T>(run: (reserve: (name: string) => void) => T): () => T
  /** Returns the number for a row that the running operation inserts. */
  nextNumber(table: string): number
}

interface ReservingDeps {
  readonly locks: NamedLocks
  readonly lockstep: Pick<Lockstep<unknown>, 'reserve' | 'takeStep'>
  /** Returns the result of a statement of the running operation. */
  resultOf(pending: PendingStatement): StepResult
  readonly numbering: ReturnType<typeof createNumbering>
}

interface RunningOperation {
  /** Numbers for its messages, each drawn after a lock that the operation has reserved. The numbers of the transaction are older than that lock. */
  readonly numbers: PendingStatement[]
}

const idOfReserving = -3

export function createReserving({ locks, lockstep, resultOf, numbering }: ReservingDeps): Reserving {
  let running: RunningOperation | undefined

  function reserveElsewhere(name: string): void {
    const asked = locks.reserve(name)
    if (!asked || !running) return
    // A number that was drawn before the lock of its thread could become visible after a higher one.
    if (isThreadConflict(name)) running.numbers.length = 0
    running.numbers.push(asked)
  }

  return {
    locks,
    enclose(run) {
      const operation: RunningOperation = { numbers: [] }
      const reserve = (name: string) => {
        lockstep.reserve(name)
        lockstep.takeStep(idOfReserving, () => reserveElsewhere(name))
      }
      return () => {
        const before = running
        running = operation
        try {
          return run(reserve)
        } finally {
          running = before
        }
      }
    },
    nextNumber(table) {
      const [first] = table === 'messages' ? (running?.numbers ?? []) : []
      if (!first) return numbering.next(table)
      const number = Number(resultOf(first).rows[0]?.number)
      running?.numbers.shift()
      return number
    },
  }
}
