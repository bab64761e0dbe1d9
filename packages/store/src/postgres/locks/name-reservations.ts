// Locks the names that operations reserve while they run, and numbers their messages in the order of the locks.
import type { Operation } from '../../sql/operation.ts'
import { isThreadConflict } from '../../transaction/conflict-keys.ts'
import type { createRowNumbering } from '../connection/numbering.ts'
import type { PendingStatement } from '../connection/statement-session.ts'
import { waitForResult } from '../connection/statement-session.ts'
import type { NamedLocks } from './named-locks.ts'

/** The reservations of one operation. */
export interface OperationReservations {
  /** Locks a name against other gateways. */
  lock(name: string): void
  /** Returns the number of a row that the operation inserts. */
  nextNumber(table: string): Operation<number>
}

/** Creates the function that opens the reservations of an operation. */
export function createNameReservations(
  locks: Pick<NamedLocks, 'reserve'>,
  numbering: ReturnType<typeof createRowNumbering>,
): () => OperationReservations {
  return () => {
    /** The numbers for messages of the operation. Each is drawn after a lock that the operation has reserved, unlike the numbers of the transaction. */
    const numbers: PendingStatement[] = []
    return {
      lock(name) {
        const pendingStatement = locks.reserve(name)
        if (!pendingStatement) return
        // A number that was drawn before the lock of its thread could become visible after a higher one.
        if (isThreadConflict(name)) numbers.length = 0
        numbers.push(pendingStatement)
      },
      *nextNumber(table) {
        const firstNumber = table === 'messages' ? numbers.shift() : undefined
        if (!firstNumber) return yield* numbering.takeNumber(table)
        return Number((yield* waitForResult(firstNumber)).rows[0]?.number)
      },
    }
  }
}
