import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupStore, RotateOptions } from '@postern/core'
import { isoTime } from '@postern/core'
import { formatMultikey } from '../signature/public-keys.ts'

const generateInThreadpool = promisify(generateKeyPair)

type SecretName = 'main-key' | 'ed25519-key' | 'made-at' | 'revokes'

/** The name under which the store keeps a secret of the actor at `path`. */
export function secretName(path: string, name: SecretName, generation = 1): string {
  return `activitypub${path}#${name}${suffixOf(generation)}`
}

/**
 * Generations are only ever added: each is three secrets, and begins with the last of them, its time. One that revokes those
 * before it has a fourth.
 */
export function createKeyGenerations(store: Pick<LookupStore, 'secret' | 'hasSecret'>, now: () => number) {
  const makeTime = async () => isoTime(now())
  const makers: Readonly<Record<SecretName, () => Promise<string>>> = {
    'main-key': () => generatePem('rsa'),
    'ed25519-key': () => generatePem('ed25519'),
    'made-at': makeTime,
    revokes: makeTime,
  }
  /** Made if there is none. */
  const secret = (path: string, name: SecretName, generation: number) =>
    store.secret(secretName(path, name, generation), makers[name])

  async function make(path: string, generation: number): Promise<string> {
    await Promise.all([secret(path, 'main-key', generation), secret(path, 'ed25519-key', generation)])
    return secret(path, 'made-at', generation)
  }

  async function findTime(path: string, generation: number): Promise<string | undefined> {
    const isMade = await store.hasSecret(secretName(path, 'made-at', generation))
    return isMade ? secret(path, 'made-at', generation) : undefined
  }

  /** When each was made, oldest first; the first is made if there is none. */
  async function listTimes(path: string): Promise<readonly string[]> {
    const times = [await make(path, 1)]
    for (let time = await findTime(path, 2); time; time = await findTime(path, times.length + 1)) times.push(time)
    return times
  }

  return {
    listTimes,
    async read(actor: string, path: string, generation: number): Promise<KeyPairs> {
      const suffix = suffixOf(generation)
      const request = await secret(path, 'main-key', generation)
      const document = await secret(path, 'ed25519-key', generation)
      return {
        request: toRequestKey(`${actor}#main-key${suffix}`, request),
        document: toDocumentKey(`${actor}#ed25519-key${suffix}`, document),
        madeAt: await secret(path, 'made-at', generation),
      }
    },
    /** The oldest that is not revoked, of this many. */
    async findOldest(path: string, count: number): Promise<number> {
      for (let generation = count; generation > 1; generation -= 1)
        if (await store.hasSecret(secretName(path, 'revokes', generation))) return generation
      return 1
    },
    /** With `isRevoking`, those before it count no more. */
    async add(path: string, { isRevoking }: RotateOptions = {}): Promise<void> {
      const generation = (await listTimes(path)).length + 1
      // First: a new key must never be seen beside one that is revoked.
      if (isRevoking) await secret(path, 'revokes', generation)
      await make(path, generation)
    },
  }
}

/** A new id with each new key: what is cached under the old one stays true. */
function suffixOf(generation: number): string {
  return generation === 1 ? '' : `-${generation}`
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
  const made = kind === 'rsa' ? generateInThreadpool('rsa', { modulusLength: 2048 }) : generateInThreadpool('ed25519')
  return (await made).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The kind of key that signs requests: RSA, which every server verifies. */
export interface RequestKey extends SigningKey {
  /** SPKI. */
  readonly publicKeyPem: string
}

/** The kind of key that signs documents: Ed25519 (FEP-521a). */
export interface DocumentKey extends SigningKey {
  readonly publicKeyMultibase: string
}

/**
 * The keys of one generation. Peers cache the public halves, so they are stored before they are shown, and outlive
 * restarts.
 */
export interface KeyPairs {
  readonly request: RequestKey
  readonly document: DocumentKey
  /** ISO 8601 UTC. */
  readonly madeAt: string
}

export interface SigningKey {
  /** IRI of the public half in its actor's document. */
  readonly id: string
  readonly privateKey: KeyObject
}

export interface ActorKeys extends KeyPairs {
  /** Newest first: those that sign, and those that signed until lately. */
  readonly listed: readonly KeyPairs[]
  /** When the first were made, and with them the actor; ISO 8601 UTC. */
  readonly actorMadeAt: string
}

export interface KeyRing {
  /** The keys of the actor with this IRI. Made once, durable before first use. */
  find(actor: string): Promise<ActorKeys>
  /**
   * Makes new keys, which sign from now on. The old ones stay listed while peers may still meet their signatures,
   * unless revoked.
   */
  rotate(actor: string, options?: RotateOptions): Promise<ActorKeys>
}
