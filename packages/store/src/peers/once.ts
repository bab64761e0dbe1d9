import { hash } from 'node:crypto'
import type { OnceStore } from '@postern/core'
import { rowLocksOf } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** A key is kept by its hash, whatever its length. Each one that is taken takes two out whose time is over, so the table shrinks again. */
export function createOnceStore({ db, write, now }: StoreContext): OnceStore {
  const take = db.prepare(
    'INSERT INTO single_use_keys (digest, expires_at) VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE single_use_keys.expires_at < ?',
  )
  const removeOld = db.prepare(
    `DELETE FROM single_use_keys WHERE digest IN
       (SELECT digest FROM single_use_keys INDEXED BY single_use_keys_expiry WHERE expires_at < ? ORDER BY expires_at LIMIT 2 ${rowLocksOf(db).skipLocked})`,
  )
  return {
    consumeOnce(key, until) {
      const digest = hash('sha256', key, 'buffer')
      const takeKey = () => {
        const isFirst = take.run(digest, Math.ceil(until), now()).changes > 0
        removeOld.run(now())
        return isFirst
      }
      return write(takeKey, { touches: () => [`single use ${digest.toString('base64')}`] })
    },
  }
}
