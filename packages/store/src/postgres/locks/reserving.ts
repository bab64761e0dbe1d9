import type { Lockstep } from '../../together/lockstep.ts'
import { isTouchedThread } from '../../together/touched.ts'
import type { createNumbering } from '../connection/numbering.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import type { PendingStatement } from '../connection/statement-session.ts'
import type { NamedLocks } from './named-locks.ts'

/** What operations reserve while they run, and the numbers of what they insert then. */
export interface Reserving {
  readonly locks: NamedLocks
  /** Makes an operation of `run`, which may reserve names, and may run several times. */
  enclose<T>(run: (reserve: (name: string) => void) => T): () => T
  /** For a row that the running operation inserts. */
  nextNumber(table: string): number
}

interface ReservingDeps {
  readonly locks: NamedLocks
  readonly lockstep: Pick<Lockstep<unknown>, 'reserve' | 'takeStep'>
  /** Of the running operation. */
  resultOf(pending: PendingStatement): StepResult
  readonly numbering: ReturnType<typeof createNumbering>
}

interface RunningOperation {
  /** Numbers for its messages, each taken behind a lock that it has reserved: those of the transaction are older than the lock. */
  readonly numbers: PendingStatement[]
}

const idOfReserving = -3

export function createReserving({ locks, lockstep, resultOf, numbering }: ReservingDeps): Reserving {
  let running: RunningOperation | undefined

  function reserveElsewhere(name: string): void {
    const asked = locks.reserve(name)
    if (!asked || !running) return
    // A number that was taken before the lock of its thread could become visible behind a later one.
    if (isTouchedThread(name)) running.numbers.length = 0
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
