// Derives the keys of advisory locks.
import { hash } from 'node:crypto'
import { threadConflict } from '../../transaction/conflict-keys.ts'
import { lockNumberOf } from '../server/lock-number.ts'
import { writerLockOf } from '../server/session.ts'

/** Derives the keys of the server's advisory locks, which have 64 bits. */
export interface LockKeys {
  /** The key that transactions lock shared if they lock names. A transaction without names locks this key exclusively. */
  readonly everything: number
  /** Returns the keys of these names without duplicates. The order is the same in all gateways, so that no deadlock occurs. */
  deriveKeys(names: Iterable<string>): readonly string[]
  deriveKey(name: string): string
  /** Returns the SQL of the key of a thread. `thread` is the SQL of its number. */
  threadKeySql(thread: string): string
}

const threadPattern = new RegExp(`^${threadConflict(0).replace('0', '(\\d+)')}$`)

export function createLockKeys(schema: string): LockKeys {
  // The value has 62 bits, so that the number of a thread can be added.
  const firstThread = BigInt(lockNumberOf(`${schema} threads`)) << 14n

  function toKey(name: string): bigint {
    const [, thread] = threadPattern.exec(name) ?? []
    if (thread !== undefined) return firstThread + BigInt(thread)
    return hash('sha256', `${schema} ${name}`, 'buffer').readBigInt64BE(0)
  }

  return {
    everything: writerLockOf(schema),
    deriveKey: name => String(toKey(name)),
    deriveKeys(names) {
      const keys = [...new Set([...names].map(toKey))]
      return keys.toSorted((a, b) => (a < b ? -1 : 1)).map(String)
    },
    // SQL has no literal of this size without a type.
    threadKeySql: thread => `CAST('${firstThread}' AS BIGINT) + ${thread}`,
  }
}
