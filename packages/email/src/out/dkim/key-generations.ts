import type { KeyObject } from 'node:crypto'
import { createPrivateKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupStore, RotateOptions } from '@postern/core'
import { isoTime } from '@postern/core'

/**
 * One RSA and one Ed25519 key, made together: every server verifies the first, and the second stays strong (RFC 8301,
 * RFC 8463).
 */
export interface KeyGeneration {
  /** 1 for the first. */
  readonly number: number
  /** ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}

interface DkimKeyGenerations {
  /** Oldest first, without those that are revoked; the first is made if there is none. */
  list(): Promise<readonly KeyGeneration[]>
  /** Makes the next one. With `isRevoking`, those before it count no more. */
  add(options?: RotateOptions): Promise<void>
}

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes'

const generateInThreadpool = promisify(generateKeyPair)
/** After this, another gateway's rotation is seen here too, ms. */
const loadedMs = 60_000

/** Generations are only ever added; each begins with the last of its secrets, its time. */
export function createDkimKeyGenerations(
  store: Pick<LookupStore, 'secret' | 'hasSecret'>,
  now: () => number,
): DkimKeyGenerations {
  let loaded: { readonly at: number; readonly generations: Promise<readonly KeyGeneration[]> } | undefined

  async function read(number: number): Promise<KeyGeneration> {
    const [rsa, ed25519] = await Promise.all([
      store.secret(nameSecret('rsa-2048', number), generateRsa),
      store.secret(nameSecret('ed25519', number), generateEd25519),
    ])
    const madeAt = await store.secret(nameSecret('made-at', number), async () => isoTime(now()))
    return { number, madeAt: Date.parse(madeAt), rsa: createPrivateKey(rsa), ed25519: createPrivateKey(ed25519) }
  }

  async function load(): Promise<readonly KeyGeneration[]> {
    let generations = [await read(1)]
    for (let next = 2; await store.hasSecret(nameSecret('made-at', next)); next += 1) {
      const isRevoking = await store.hasSecret(nameSecret('revokes', next))
      generations = [...(isRevoking ? [] : generations), await read(next)]
    }
    return generations
  }

  function list(): Promise<readonly KeyGeneration[]> {
    if (!loaded || loaded.at + loadedMs < now()) loaded = { at: now(), generations: load() }
    loaded.generations.catch(() => {
      loaded = undefined
    })
    return loaded.generations
  }

  return {
    list,
    async add({ isRevoking } = {}) {
      const newest = (await load()).at(-1)?.number ?? 1
      // First: a new key must never be seen beside one that is revoked.
      if (isRevoking) await store.secret(nameSecret('revokes', newest + 1), async () => isoTime(now()))
      await read(newest + 1)
      loaded = undefined
    },
  }
}

function nameSecret(name: SecretName, generation: number): string {
  return `email-dkim-${name}${generation === 1 ? '' : `-${generation}`}`
}

async function generateRsa(): Promise<string> {
  const { privateKey } = await generateInThreadpool('rsa', { modulusLength: 2048 })
  return exportPem(privateKey)
}

async function generateEd25519(): Promise<string> {
  const { privateKey } = await generateInThreadpool('ed25519')
  return exportPem(privateKey)
}

function exportPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}
