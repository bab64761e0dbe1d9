import type { PublishedKey, RotateOptions } from '@postern/core'
import type { KeyPairs } from './key-pairs.ts'
import type { KeyRing } from './keys.ts'

/** Every key the documents of these actors list, newest first. */
export async function listPublishedKeys(
  keys: Pick<KeyRing, 'find'>,
  actors: readonly string[],
): Promise<readonly PublishedKey[]> {
  const found = await Promise.all(actors.map(actor => keys.find(actor)))
  return found.flatMap(({ listed }) => listed.flatMap(describeKeys))
}

/** Makes new keys for these actors. Gives those that sign from now on. */
export async function rotateActorKeys(
  keys: Pick<KeyRing, 'rotate'>,
  actors: readonly string[],
  options?: RotateOptions,
): Promise<readonly PublishedKey[]> {
  const renewed = await Promise.all(actors.map(actor => keys.rotate(actor, options)))
  return renewed.flatMap(describeKeys)
}

function describeKeys({ request, document, madeAt }: KeyPairs): readonly PublishedKey[] {
  return [
    {
      purpose: 'ActivityPub HTTP signatures',
      id: request.id,
      algorithm: 'RSA-2048, rsa-sha256',
      publicKey: request.publicKeyPem,
      madeAt,
    },
    {
      purpose: 'ActivityPub object proofs',
      id: document.id,
      algorithm: 'Ed25519, eddsa-jcs-2022',
      publicKey: document.publicKeyMultibase,
      madeAt,
    },
  ]
}
