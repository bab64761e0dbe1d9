// Makes and reads the secrets of the store.

import { KeyNotMade } from '@postern/message'
import type { LookupStore } from '@postern/pipeline'
import type { StoreContext } from './transaction/store-context.ts'

/** Creates the store of secrets. Whoever stores a secret first decides it, within this process and among processes. Making one may take long. */
export function createSecrets({ db, write, readsOnly }: StoreContext): Pick<LookupStore, 'secret' | 'hasSecret'> {
  const find = db.prepare<{ value: string }>('SELECT value FROM secrets WHERE name = ?')
  const insert = db.prepare('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const making = new Map<string, Promise<string>>()

  async function storeFirst(name: string, make: () => Promise<string>): Promise<string> {
    if (readsOnly) throw new KeyNotMade()
    const made = await make()
    return write(() => {
      insert.run(name, made)
      return find.get(name)?.value ?? made
    })
  }

  function makeOnce(name: string, make: () => Promise<string>): Promise<string> {
    const begun = making.get(name) ?? storeFirst(name, make).finally(() => making.delete(name))
    making.set(name, begun)
    return begun
  }

  return {
    secret: async (name, make) => find.get(name)?.value ?? makeOnce(name, make),
    hasSecret: async name => find.get(name) !== undefined,
  }
}
