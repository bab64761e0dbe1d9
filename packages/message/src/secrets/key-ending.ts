// Creates the endings that distinguish the published names of each generation of keys.
import { randomBytes } from 'node:crypto'

interface SecretPort {
  readOrCreateSecret(name: string, make: () => Promise<string>): Promise<string>
  hasSecret(name: string): Promise<boolean>
}

/** The name of a secret that exists only in a store restored from a backup. Names that this store does not know may have been used after the backup. */
export const restoredSecret = 'restored-at'

/** Returns the ending of an existing generation. `secretName` is its name in the store. Without that secret, the ending is the number, as in earlier releases. */
export async function findKeyEnding(store: SecretPort, secretName: string, generation: number): Promise<string> {
  if (await store.hasSecret(secretName)) return `-${await store.readOrCreateSecret(secretName, async () => '')}`
  return generation === 1 ? '' : `-${generation}`
}

/**
 * Creates the ending of a new generation. It is random, because a counter would restart in a restored store, and peers still have the keys of the
 * names that were published before. Only the first generation of a store that was never restored has no ending.
 */
export async function makeKeyEnding(store: SecretPort, secretName: string, generation: number): Promise<void> {
  if (generation === 1 && !(await store.hasSecret(restoredSecret))) return
  await store.readOrCreateSecret(secretName, async () => randomBytes(5).toString('hex'))
}
