import { hash } from 'node:crypto'
import { touchedThread } from '../../together/touched.ts'
import { lockNumberOf } from '../server/lock-number.ts'
import { writerLockOf } from '../server/session.ts'

/** Keys of the server's advisory locks, 64 bits each, as it reads them. */
export interface LockKeys {
  /** Shared by all who say what they touch; whoever does not takes it alone. */
  readonly everything: number
  /** Of these names, each once, in one order for all gateways, so that none waits for another that waits for it. */
  keysOf(names: Iterable<string>): readonly string[]
  keyOf(name: string): string
  /** The key of a thread whose number is this SQL. */
  threadKeySql(thread: string): string
}

const threadPattern = new RegExp(`^${touchedThread(0).replace('0', '(\\d+)')}$`)

export function createLockKeys(schema: string): LockKeys {
  // 62 bits, so that the number of a thread can be added.
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
      return keys.toSorted((one, other) => (one < other ? -1 : 1)).map(String)
    },
    // SQL has no such number without its type.
    threadKeySql: thread => `CAST('${firstThread}' AS BIGINT) + ${thread}`,
  }
}
