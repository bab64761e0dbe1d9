// Locks transcript threads for one writer.
import { randomBytes } from 'node:crypto'
import type { TranscriptStore } from '@postern/transcript'
import type { StoreContext } from '../../transaction/store-context.ts'
import { transcriptConflict } from './transcript-conflicts.ts'
import type { TranscriptThreadTable } from './transcript-thread-table.ts'
import { findLockToken } from './transcript-thread-table.ts'

export function createThreadLocks(
  threads: TranscriptThreadTable,
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
): Pick<TranscriptStore, 'acquireLock' | 'isLocked' | 'releaseLock'> {
  return {
    acquireLock: (key, ttlMs) =>
      write(
        function* () {
          const thread = yield* threads.require(key)
          if (findLockToken(thread, now()) !== undefined) return undefined
          const lock = { token: randomBytes(16).toString('hex'), fence: thread.fences + 1 }
          const expires_at = now() + ttlMs
          threads.lock(thread.id, { ...lock, expiresAt: expires_at })
          return { ...lock, expires_at }
        },
        { conflictKeys: () => [transcriptConflict(key)] },
      ),
    isLocked(key) {
      return db.read(function* () {
        const thread = yield* threads.find(key)
        return thread !== undefined && findLockToken(thread, now()) !== undefined
      })
    },
    releaseLock: (key, token) =>
      write(
        function* () {
          const thread = yield* threads.find(key)
          return thread !== undefined && (yield* threads.unlock(thread.id, token, now()))
        },
        { conflictKeys: () => [transcriptConflict(key)] },
      ),
  }
}
