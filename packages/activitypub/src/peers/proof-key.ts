// Describes the public key of an actor as the record of a message keeps it.
import type { KeyObject } from 'node:crypto'
import type { ProofKey } from '@postern/message'
import { toProofKey } from '@postern/pipeline'
import type { RemoteActor } from './actor-document.ts'

/** The cache of formatted keys, because one key proves many messages. */
const formattedKeys = new WeakMap<KeyObject, ProofKey>()

/** Returns the public key of an actor in the form of the record, or undefined if the actor lists no key of this id. */
export function findProofKey(
  { id, keys, assertionKeys }: RemoteActor,
  keyId: string | undefined,
): ProofKey | undefined {
  const key = keyId === undefined ? undefined : (keys.get(keyId) ?? assertionKeys.get(keyId))
  if (!key) return undefined
  const proofKey = formattedKeys.get(key)
  if (proofKey) return proofKey
  const newProofKey = toProofKey('pem', key.export({ type: 'spki', format: 'pem' }).toString(), id)
  formattedKeys.set(key, newProofKey)
  return newProofKey
}
