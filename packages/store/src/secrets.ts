// Creates and reads the secrets of the store.

import { KeyNotMade } from '@postern/message'
import type { LookupStore } from '@postern/pipeline'
import type { StoreContext } from './transaction/store-context.ts'

/** Creates the store of secrets. All processes use the first stored value of a secret. The creation of a secret may take seconds. */
export function createSecrets({
  db,
  write,
  readsOnly,
}: StoreContext): Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'> {
  const find = db.prepare<{ value: string }>('SELECT value FROM secrets WHERE name = ?')
  const insert = db.prepare('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const creations = new Map<string, Promise<string>>()

  async function storeFirst(name: string, create: () => Promise<string>): Promise<string> {
    if (readsOnly) throw new KeyNotMade()
    const newSecret = await create()
    return write(function* () {
      insert.run(name, newSecret)
      return (yield* find.get(name))?.value ?? newSecret
    })
  }

  function createShared(name: string, create: () => Promise<string>): Promise<string> {
    const creation = creations.get(name) ?? storeFirst(name, create).finally(() => creations.delete(name))
    creations.set(name, creation)
    return creation
  }

  return {
    async readOrCreateSecret(name, make) {
      const row = await db.read(() => find.get(name))
      return row?.value ?? createShared(name, make)
    },
    hasSecret: name =>
      db.read(function* () {
        return (yield* find.get(name)) !== undefined
      }),
  }
}
