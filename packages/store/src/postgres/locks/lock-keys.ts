// Derives the keys of advisory locks.
import { hash } from 'node:crypto'
import { threadConflict } from '../../batching/conflict-keys.ts'
import { lockNumberOf } from '../server/lock-number.ts'
import { writerLockOf } from '../server/session.ts'

/** Keys of the server's advisory locks, 64 bits each, in the form that the server reads. */
export interface LockKeys {
  /** The key that all transactions share if they name what they touch. A transaction without names holds it exclusively. */
  readonly everything: number
  /** Returns the keys of these names without duplicates, in one order for all gateways, so that no two wait for each other. */
  keysOf(names: Iterable<string>): readonly string[]
  keyOf(name: string): string
  /** Returns SQL for the key of a thread. `thread`: SQL of its number. */
  threadKeySql(thread: string): string
}

const threadPattern = new RegExp(`^${threadConflict(0).replace('0', '(\\d+)')}$`)

export function createLockKeys(schema: string): LockKeys {
  // 62 bits leave room to add the number of a thread.
  const firstThread = BigInt(lockNumberOf(`${schema} threads`)) << 14n

  function toKey(name: string): bigint {
    const [, thread] = threadPattern.exec(name) ?? []
    if (thread !== undefined) return firstThread + BigInt(thread)
    return hash('sha256', `${schema} ${name}`, 'buffer').readBigInt64BE(0)
  }

  return {
    everything: writerLockOf(schema),
    keyOf: name => String(toKey(name)),
    keysOf(names) {
      const keys = [...new Set([...names].map(toKey))]
      return keys.toSorted((a, b) => (a < b ? -1 : 1)).map(String)
    },
    // SQL has no literal of this size without a type.
    threadKeySql: thread => `CAST('${firstThread}' AS BIGINT) + ${thread}`,
  }
}
