// Creates and reads the generations of an actor's signing keys, and revokes old ones.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { findKeyEnding, isoTime, makeKeyEnding } from '@postern/message'
import type { LookupStore, RotateOptions } from '@postern/pipeline'
import { formatMultikey } from '../signature/public-keys.ts'

const generateInThreadpool = promisify(generateKeyPair)

type SecretName = 'main-key' | 'ed25519-key' | 'made-at' | 'revokes' | 'ending'

/** Returns the name under which the store keeps a secret of the actor at `path`. */
export function formatSecretName(path: string, name: SecretName, generation = 1): string {
  return `activitypub${path}#${name}${generation === 1 ? '' : `-${generation}`}`
}

/**
 * Creates the access to the generations of keys. Generations are only added, never changed. Each generation has three secrets. The last
 * secret, its creation time, makes the generation effective. A generation that revokes its predecessors, or whose key ids have a suffix, has one
 * more secret.
 */
export function createKeyGenerations(store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>, now: () => number) {
  const createTime = async () => isoTime(now())
  const creators: Readonly<Record<Exclude<SecretName, 'ending'>, () => Promise<string>>> = {
    'main-key': () => generatePem('rsa'),
    'ed25519-key': () => generatePem('ed25519'),
    'made-at': createTime,
    revokes: createTime,
  }
  /** Returns a secret of a generation, which is created if it does not exist. */
  const readSecret = (path: string, name: keyof typeof creators, generation: number) =>
    store.readOrCreateSecret(formatSecretName(path, name, generation), creators[name])

  async function createGeneration(path: string, generation: number): Promise<string> {
    const exists = await store.hasSecret(formatSecretName(path, 'main-key', generation))
    if (!exists) await makeKeyEnding(store, formatSecretName(path, 'ending', generation), generation)
    await Promise.all([readSecret(path, 'main-key', generation), readSecret(path, 'ed25519-key', generation)])
    return readSecret(path, 'made-at', generation)
  }

  async function findTime(path: string, generation: number): Promise<string | undefined> {
    const exists = await store.hasSecret(formatSecretName(path, 'made-at', generation))
    return exists ? readSecret(path, 'made-at', generation) : undefined
  }

  /** Returns the time of each generation, oldest first. It creates the first generation if there is none. */
  async function listTimes(path: string): Promise<readonly string[]> {
    const times = [await createGeneration(path, 1)]
    for (let time = await findTime(path, 2); time; time = await findTime(path, times.length + 1)) times.push(time)
    return times
  }

  return {
    listTimes,
    async readKeys(actor: string, path: string, generation: number): Promise<KeyPairs> {
      const keyIdSuffix = await findKeyEnding(store, formatSecretName(path, 'ending', generation), generation)
      const requestKey = await readSecret(path, 'main-key', generation)
      const documentKey = await readSecret(path, 'ed25519-key', generation)
      return {
        requestKey: toRequestKey(`${actor}#main-key${keyIdSuffix}`, requestKey),
        documentKey: toDocumentKey(`${actor}#ed25519-key${keyIdSuffix}`, documentKey),
        createdAt: await readSecret(path, 'made-at', generation),
      }
    },
    /** Returns the number of the oldest generation that is not revoked. `count` is the number of generations. */
    async findOldestUnrevoked(path: string, count: number): Promise<number> {
      for (let generation = count; generation > 1; generation -= 1)
        if (await store.hasSecret(formatSecretName(path, 'revokes', generation))) return generation
      return 1
    },
    /** Adds a generation. With `isRevoking`, the new generation revokes all earlier ones. */
    async addGeneration(path: string, { isRevoking }: RotateOptions = {}): Promise<void> {
      const generation = (await listTimes(path)).length + 1
      // The revocation is stored first, because a new key must never be listed beside a revoked one.
      if (isRevoking) await readSecret(path, 'revokes', generation)
      await createGeneration(path, generation)
    },
  }
}

function toRequestKey(id: string, pem: string): RequestKey {
  const privateKey = createPrivateKey(pem)
  const publicKeyPem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  return { id, privateKey, publicKeyPem }
}

function toDocumentKey(id: string, pem: string): DocumentKey {
  const privateKey = createPrivateKey(pem)
  return { id, privateKey, publicKeyMultibase: formatMultikey(createPublicKey(privateKey)) }
}

async function generatePem(kind: 'rsa' | 'ed25519'): Promise<string> {
  const generatedPair =
    kind === 'rsa' ? generateInThreadpool('rsa', { modulusLength: 2048 }) : generateInThreadpool('ed25519')
  return (await generatedPair).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The kind of key that signs requests: RSA, which every server verifies. */
export interface RequestKey extends SigningKey {
  /** The public key as SPKI in PEM. */
  readonly publicKeyPem: string
}

/** The kind of key that signs documents: Ed25519 (FEP-521a). */
export interface DocumentKey extends SigningKey {
  readonly publicKeyMultibase: string
}

/** The keys of one generation. Peers cache the public halves, so the keys are stored before they are published, and survive restarts. */
export interface KeyPairs {
  readonly requestKey: RequestKey
  readonly documentKey: DocumentKey
  /** The time of the generation, ISO 8601 UTC. */
  readonly createdAt: string
}

export interface SigningKey {
  /** The IRI of the public half in its actor's document. */
  readonly id: string
  readonly privateKey: KeyObject
}

export interface ActorKeys extends KeyPairs {
  /** The keys in the actor document, newest first: the current ones and recently replaced ones. */
  readonly listedKeys: readonly KeyPairs[]
  /** The time at which the first keys were made, and with them the actor; ISO 8601 UTC. */
  readonly actorCreatedAt: string
}

export interface KeyRing {
  /** Returns the keys of the actor with this IRI. They are created once, and stored before their first use. */
  find(actor: string): Promise<ActorKeys>
  /** Creates new keys, which sign from now on. The old keys stay listed while peers may still receive their signatures, unless they are revoked. */
  rotate(actor: string, options?: RotateOptions): Promise<ActorKeys>
}
