import { prepareQuery } from './database.ts'
import type { Store } from './store.ts'

/** Writes a row that nobody reads: a full disk, a lock or a standby is noticed in no other way. @throws Unavailable */
export function createWriteCheck({ db, writeLightly }: Pick<Store, 'db' | 'writeLightly'>): () => Promise<void> {
  const touch = prepareQuery(
    db,
    "INSERT INTO counters (name, value) VALUES ('checks', 1) ON CONFLICT (name) DO UPDATE SET value = counters.value + 1",
  )
  return () => writeLightly(() => void touch.run())
}
