import type { KeyObject } from 'node:crypto'
import type { ProofKey } from '@postern/core'
import { toProofKey } from '@postern/core'
import type { RemoteActor } from '../peers/remote-actor.ts'

/** Written once for a key, for it proves many messages. */
const written = new WeakMap<KeyObject, ProofKey>()

/** The public key of an actor as the record of a message keeps it; undefined when the actor lists none of this id. */
export function keyOf({ id, keys, assertionKeys }: RemoteActor, keyId: string | undefined): ProofKey | undefined {
  const key = keyId === undefined ? undefined : (keys.get(keyId) ?? assertionKeys.get(keyId))
  if (!key) return undefined
  const known = written.get(key)
  if (known) return known
  const made = toProofKey('pem', key.export({ type: 'spki', format: 'pem' }).toString(), id)
  written.set(key, made)
  return made
}
