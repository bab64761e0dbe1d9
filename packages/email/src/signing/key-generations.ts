// Stores generations of DKIM keys. A generation is an RSA key and an Ed25519 key that are created together.

import type { KeyObject } from 'node:crypto'
import { createPrivateKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { System } from '@postern/message'
import { findKeyEnding, isoTime, makeKeyEnding } from '@postern/message'
import type { LookupStore, RotateOptions } from '@postern/pipeline'

export type Clock = Pick<System, 'now'>

/**
 * An RSA and an Ed25519 key of one generation. Every server can verify RSA, and Ed25519 stays secure for longer (RFC
 * 8301, RFC 8463).
 */
export interface KeyGeneration {
  /** The number of the generation. The first one is 1. */
  readonly number: number
  /** The suffix of the generation's selectors. It is empty if the selectors have no suffix. */
  readonly selectorSuffix: string
  /** The time of the creation of the keys, ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes' | 'ending'

const generateInThreadpool = promisify(generateKeyPair)

/**
 * Opens the generations in the store. Generations are only added. A generation exists when its last secret, the time of
 * its creation, is stored.
 */
export function createDkimKeyGenerations(store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>, clock: Clock) {
  const formatNow = async () => isoTime(clock.now())
  const secretCreators: Readonly<Record<Exclude<SecretName, 'ending'>, () => Promise<string>>> = {
    'rsa-2048': () => generatePem('rsa'),
    ed25519: () => generatePem('ed25519'),
    'made-at': formatNow,
    revokes: formatNow,
  }
  /** Reads a secret, and creates it if it is absent. */
  const openSecret = (name: keyof typeof secretCreators, number: number) =>
    store.readOrCreateSecret(formatSecretName(name, number), secretCreators[name])

  async function readOrCreate(number: number): Promise<KeyGeneration> {
    const exists = await store.hasSecret(formatSecretName('rsa-2048', number))
    if (!exists) await makeKeyEnding(store, formatSecretName('ending', number), number)
    const [rsa, ed25519] = await Promise.all([openSecret('rsa-2048', number), openSecret('ed25519', number)])
    const madeAt = Date.parse(await openSecret('made-at', number))
    const selectorSuffix = await findKeyEnding(store, formatSecretName('ending', number), number)
    return {
      number,
      selectorSuffix,
      madeAt,
      rsa: createPrivateKey(rsa),
      ed25519: createPrivateKey(ed25519),
    }
  }

  /** Returns the generations that are not revoked, oldest first. It creates the first generation if there is none. */
  async function load(): Promise<readonly KeyGeneration[]> {
    let generations = [await readOrCreate(1)]
    for (let next = 2; await store.hasSecret(formatSecretName('made-at', next)); next += 1) {
      const isRevoking = await store.hasSecret(formatSecretName('revokes', next))
      generations = [...(isRevoking ? [] : generations), await readOrCreate(next)]
    }
    return generations
  }

  return {
    load,
    /** Creates the next generation. If `isRevoking` is true, all earlier generations are revoked. */
    async add({ isRevoking }: RotateOptions = {}): Promise<void> {
      const newestNumber = (await load()).at(-1)?.number ?? 1
      // The revocation is stored first, so that no reader sees the new keys together with revoked keys.
      if (isRevoking) await openSecret('revokes', newestNumber + 1)
      await readOrCreate(newestNumber + 1)
    },
  }
}

function formatSecretName(name: SecretName, generation: number): string {
  return `email-dkim-${name}${generation === 1 ? '' : `-${generation}`}`
}

async function generatePem(kind: 'rsa' | 'ed25519'): Promise<string> {
  const keyPair =
    kind === 'rsa' ? generateInThreadpool('rsa', { modulusLength: 2048 }) : generateInThreadpool('ed25519')
  return (await keyPair).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
