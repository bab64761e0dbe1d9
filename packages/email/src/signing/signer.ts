// Signs mail with the DKIM keys of this gateway, publishes them in DNS records and rotates them.

import { isoTime } from '@postern/message'
import type { LookupStore, PublishedKey, RotateOptions } from '@postern/pipeline'
import { describeDkimKey } from './dns-records.ts'
import type { Clock, KeyGeneration } from './key-generations.ts'
import { createDkimKeyGenerations } from './key-generations.ts'
import type { DkimKey, DkimSigningOptions } from './sign.ts'
import { createDkimSignatures } from './sign.ts'

export type DkimSigner = ReturnType<typeof createDkimSigner>

interface DkimSignerDeps {
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>
  readonly domain: string
  readonly selector: string
  readonly clock: Clock
}

/**
 * Creates the signer of outgoing mail, so that a smarthost need not sign. It signs with RSA and with Ed25519, because
 * some servers support only one of the two.
 */
export function createDkimSigner({ store, domain, selector, clock }: DkimSignerDeps) {
  const generations = createDkimKeyGenerations(store, clock)
  const signing = createCachedSigner({ load: generations.load, domain, selector, clock })
  const describe = (generation: KeyGeneration) =>
    listKeys(generation, selector).map(key => ({ ...describeDkimKey(key, domain), madeAt: isoTime(generation.madeAt) }))
  return {
    /** Returns the message with its DKIM-Signatures on top; `signedAt` is ISO 8601 UTC. */
    sign: signing.sign,
    /** Returns every key with signatures that can still be verified, newest first. */
    async publish(): Promise<readonly PublishedKey[]> {
      const allGenerations = await signing.list()
      const validGenerations = allGenerations.filter(
        (_, index) => (allGenerations[index + 1]?.madeAt ?? Number.POSITIVE_INFINITY) + 2 * overlapMs > clock.now(),
      )
      return validGenerations.toReversed().flatMap(describe)
    },
    /**
     * Creates new keys and returns them. Unless the old keys are revoked, old and new keys sign until the new DNS
     * records have spread.
     */
    async rotate(options?: RotateOptions): Promise<readonly PublishedKey[]> {
      await generations.add(options)
      signing.clearCache()
      return (await signing.list()).slice(-1).flatMap(describe)
    },
  }
}

interface SigningDeps extends Pick<DkimSigningOptions, 'domain'> {
  /** Loads the generations, oldest first. */
  load(): Promise<readonly KeyGeneration[]>
  readonly selector: string
  readonly clock: Clock
}

/** The lifetime of the cached keys, ms. When it ends, this process sees a rotation by another process. */
const cacheMs = 5_000

/** Creates a signer that signs with the keys that were valid at the time of a message. It caches the keys. */
function createCachedSigner({ load, domain, selector, clock }: SigningDeps) {
  let cache: { readonly loadedAt: number; readonly generations: Promise<readonly KeyGeneration[]> } | undefined

  function list(): Promise<readonly KeyGeneration[]> {
    if (!cache || Math.abs(clock.now() - cache.loadedAt) > cacheMs)
      cache = { loadedAt: clock.now(), generations: load() }
    cache.generations.catch(() => {
      cache = undefined
    })
    return cache.generations
  }

  return {
    list,
    async sign(message: Buffer, signedAt: string): Promise<Buffer> {
      const signedMs = Date.parse(signedAt)
      const keys = chooseSigningGenerations(await list(), signedMs).flatMap(generation =>
        listKeys(generation, selector),
      )
      return Buffer.concat([
        Buffer.from(await createDkimSignatures(message, { domain, keys, signedAt: signedMs })),
        message,
      ])
    },
    clearCache(): void {
      cache = undefined
    },
  }
}

/** The time in which old keys sign together with new ones, ms. A signature is valid for the same time. */
const overlapMs = 7 * 24 * 3_600_000

/**
 * Chooses the keys by the time of the message and not of the attempt, so that a second attempt sends the same octets.
 */
function chooseSigningGenerations(generations: readonly KeyGeneration[], signedMs: number): readonly KeyGeneration[] {
  const signingGenerations = generations.filter(({ madeAt }, index) => {
    const next = generations[index + 1]
    return (index === 0 || madeAt <= signedMs) && (next === undefined || signedMs < next.madeAt + overlapMs)
  })
  return signingGenerations.slice(-2)
}

/** Returns the keys of a generation with their selectors. Each new key has a new selector, so that cached records of old keys stay correct. */
function listKeys({ selectorSuffix, rsa, ed25519 }: KeyGeneration, selector: string): readonly DkimKey[] {
  const name = selector + selectorSuffix
  return [
    { selector: name, privateKey: rsa },
    { selector: `${name}-ed25519`, privateKey: ed25519 },
  ]
}
