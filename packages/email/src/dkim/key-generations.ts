// Keeps generations of DKIM keys in the store: an RSA and an Ed25519 key that are made together.

import type { KeyObject } from 'node:crypto'
import { createPrivateKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { System } from '@postern/message'
import { findKeyEnding, isoTime, makeKeyEnding } from '@postern/message'
import type { LookupStore, RotateOptions } from '@postern/pipeline'

export type Clock = Pick<System, 'now'>

/**
 * An RSA and an Ed25519 key that were made together. Every server verifies the first, and the second stays strong (RFC
 * 8301, RFC 8463).
 */
export interface KeyGeneration {
  /** The number of the generation. The first one is 1. */
  readonly number: number
  /** The suffix of the generation's selectors. It is empty if the selectors are the configured ones. */
  readonly selectorEnding: string
  /** The time when the keys were made, ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes' | 'ending'

const generateInThreadpool = promisify(generateKeyPair)

/** Opens the generations in the store. Generations are only added, and each one exists once its last secret, the time, is stored. */
export function createDkimKeyGenerations(store: Pick<LookupStore, 'secret' | 'hasSecret'>, clock: Clock) {
  const makeTime = async () => isoTime(clock.now())
  const makers: Readonly<Record<Exclude<SecretName, 'ending'>, () => Promise<string>>> = {
    'rsa-2048': () => generatePem('rsa'),
    ed25519: () => generatePem('ed25519'),
    'made-at': makeTime,
    revokes: makeTime,
  }
  /** Reads a secret, and makes it if there is none. */
  const secret = (name: keyof typeof makers, number: number) => store.secret(nameSecret(name, number), makers[name])

  async function read(number: number): Promise<KeyGeneration> {
    const isMade = await store.hasSecret(nameSecret('rsa-2048', number))
    if (!isMade) await makeKeyEnding(store, nameSecret('ending', number), number)
    const [rsa, ed25519] = await Promise.all([secret('rsa-2048', number), secret('ed25519', number)])
    const madeAt = Date.parse(await secret('made-at', number))
    const selectorEnding = await findKeyEnding(store, nameSecret('ending', number), number)
    return { number, selectorEnding, madeAt, rsa: createPrivateKey(rsa), ed25519: createPrivateKey(ed25519) }
  }

  /** Returns the generations that are not revoked, oldest first. It makes the first one if there is none. */
  async function load(): Promise<readonly KeyGeneration[]> {
    let generations = [await read(1)]
    for (let next = 2; await store.hasSecret(nameSecret('made-at', next)); next += 1) {
      const isRevoking = await store.hasSecret(nameSecret('revokes', next))
      generations = [...(isRevoking ? [] : generations), await read(next)]
    }
    return generations
  }

  return {
    load,
    /** Makes the next generation. If `isRevoking` is true, all earlier ones are revoked. */
    async add({ isRevoking }: RotateOptions = {}): Promise<void> {
      const newest = (await load()).at(-1)?.number ?? 1
      // The revocation is stored first, so that no reader sees the new key together with a revoked one.
      if (isRevoking) await secret('revokes', newest + 1)
      await read(newest + 1)
    },
  }
}

function nameSecret(name: SecretName, generation: number): string {
  return `email-dkim-${name}${generation === 1 ? '' : `-${generation}`}`
}

async function generatePem(kind: 'rsa' | 'ed25519'): Promise<string> {
  const keyPair =
    kind === 'rsa' ? generateInThreadpool('rsa', { modulusLength: 2048 }) : generateInThreadpool('ed25519')
  return (await keyPair).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
