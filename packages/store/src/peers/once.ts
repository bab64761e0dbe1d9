import { hash } from 'node:crypto'
import type { OnceStore } from '@postern/core'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

/** A key is kept by its hash, whatever its length. Each one that is taken takes two out whose time is over, so the table shrinks again. */
export function createOnceStore({ db, write, now }: StoreContext): OnceStore {
  const take = prepareQuery(
    db,
    'INSERT INTO used_keys (digest, until) VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET until = excluded.until WHERE used_keys.until < ?',
  )
  const removeOld = prepareQuery(
    db,
    `DELETE FROM used_keys WHERE digest IN
       (SELECT digest FROM used_keys INDEXED BY used_keys_oldest WHERE until < ? ORDER BY until LIMIT 2)`,
  )
  return {
    consumeOnce(key, until) {
      const digest = hash('sha256', key, 'buffer')
      return write(() => {
        const isFirst = take.run(digest, Math.ceil(until), now()).changes > 0
        removeOld.run(now())
        return isFirst
      })
    },
  }
}
