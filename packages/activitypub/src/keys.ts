import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupDesk } from '@postern/core'
import { isoTime } from '@postern/core'
import type { SigningKey } from './signature/sign.ts'

const generateInThreadpool = promisify(generateKeyPair)

/** A key pair of ours; peers cache the public half, so it must outlive restarts (it is kept before it is shown). */
export interface ActorKey extends SigningKey {
  /** SPKI. */
  readonly publicKeyPem: string
  /** When it was made, and with it the actor; ISO 8601 UTC. */
  readonly madeAt: string
}

export interface KeyRing {
  /** The key of the actor with this IRI. Made once, durable before first use. */
  find(actor: string): Promise<ActorKey>
}

export interface KeyRingParts {
  readonly desk: Pick<LookupDesk, 'secret'>
  readonly origin: string
  now(): number
}

export function createKeyRing({ desk, origin, now }: KeyRingParts): KeyRing {
  const loaded = new Map<string, Promise<ActorKey>>()

  async function loadKey(actor: string, path: string): Promise<ActorKey> {
    const id = `${actor}#main-key`
    const privateKey = createPrivateKey(await desk.secret(`activitypub${path}#main-key`, generatePrivatePem))
    const publicKeyPem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
    const madeAt = await desk.secret(`activitypub${path}#made-at`, async () => isoTime(now()))
    return { id, privateKey, publicKeyPem, madeAt }
  }

  return {
    find(actor) {
      const found = loaded.get(actor) ?? loadKey(actor, actor.slice(origin.length))
      loaded.set(actor, found)
      found.catch(() => loaded.delete(actor))
      return found
    },
  }
}

async function generatePrivatePem(): Promise<string> {
  const { privateKey } = await generateInThreadpool('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
