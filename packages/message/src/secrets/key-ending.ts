// Makes the endings by which the published names of one generation of keys differ from those of others.
import { randomBytes } from 'node:crypto'

interface SecretPort {
  secret(name: string, make: () => Promise<string>): Promise<string>
  hasSecret(name: string): Promise<boolean>
}

/** Stands in a store that came out of a backup. Names that this store does not know may have been used since. */
export const restoredSecret = 'restored-at'

/** The ending of a generation that was made; `secret`: where the store keeps it. Earlier releases counted. */
export async function findKeyEnding(store: SecretPort, secret: string, generation: number): Promise<string> {
  if (await store.hasSecret(secret)) return `-${await store.secret(secret, async () => '')}`
  return generation === 1 ? '' : `-${generation}`
}

/**
 * Makes the ending of a generation that is about to be made. It is random: a count begins anew in a restored store, and peers keep the keys of
 * the names that were given before. Only the first generation of a store that was never restored has no ending.
 */
export async function makeKeyEnding(store: SecretPort, secret: string, generation: number): Promise<void> {
  if (generation === 1 && !(await store.hasSecret(restoredSecret))) return
  await store.secret(secret, async () => randomBytes(5).toString('hex'))
}
