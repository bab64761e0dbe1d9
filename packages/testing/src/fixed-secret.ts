// Creates secrets with fixed keys for tests.
import type { SecretRing, SecretStore } from '@postern/pipeline'

/** Creates a ring of keys, newest first, that nobody rotates. */
export function createFixedSecret(...keys: readonly string[]): SecretRing {
  return { list: () => keys, listAll: () => keys }
}

/** Creates a store in which every secret has this key. */
export function createFixedSecrets(key: string): Pick<SecretStore, 'openSecret'> {
  return { openSecret: async () => createFixedSecret(key) }
}
