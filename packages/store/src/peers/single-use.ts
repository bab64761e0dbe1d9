// Accepts keys that may be used only once, such as codes and nonces.
import { hash } from 'node:crypto'
import type { SingleUseStore } from '@postern/pipeline'
import type { Sql } from '../sql/sql.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** Creates the store of single-use keys. A key is stored as its hash. Each insertion removes two expired keys, so the table shrinks again. */
export function createSingleUseStore({ db, write, now }: StoreContext): SingleUseStore {
  const insertKey = db.prepare(
    'INSERT INTO single_use_keys (digest, expires_at) VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE single_use_keys.expires_at < ?',
  )
  const removeExpired = createExpiredKeyRemoval(db)
  return {
    consumeOnce(key, expiresAt) {
      const digest = hash('sha256', key, 'buffer')
      function* consumeKey() {
        const isFirst = (yield* insertKey.change(digest, Math.ceil(expiresAt), now())) > 0
        removeExpired(now())
        return isFirst
      }
      return write(consumeKey, { conflictKeys: () => [`single use ${digest.toString('base64')}`] })
    },
  }
}

/** Prepares the removal of two expired keys. */
export function createExpiredKeyRemoval(db: Sql): (now: number) => void {
  const removeExpired = db.prepare(
    `DELETE FROM single_use_keys WHERE digest IN
       (SELECT digest FROM single_use_keys INDEXED BY single_use_keys_expiry WHERE expires_at < ? ORDER BY expires_at LIMIT 2 ${db.rowLocks.skipLocked})`,
  )
  return now => void removeExpired.run(now)
}
