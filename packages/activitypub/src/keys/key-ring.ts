// Caches the keys of our own actors, and rotates them.

import { createExpiringMap } from '@postern/limits'
import type { LookupStore, RotateOptions } from '@postern/pipeline'
import type { ActorKeys, KeyRing } from './key-generations.ts'
import { createKeyGenerations } from './key-generations.ts'

interface KeyRingDeps {
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>
  readonly origin: string
  now(): number
}

/** The time for which replaced keys stay listed, ms. It is longer than peers queue unverified activities. */
const overlapMs = 7 * 86_400_000

/** The maximum number of listed keys. Some peers read no more keys. */
const maxListedKeys = 4

/**
 * The lifetime of loaded keys, ms. After this time, the gateway notices that another gateway has rotated the keys. In the meantime, peers reject
 * posts that revoked keys sign.
 */
const cacheTtlMs = 5_000

const maxActors = 10_000

export function createKeyRing({ store, origin, now }: KeyRingDeps): KeyRing {
  const cachedKeys = createExpiringMap<Promise<ActorKeys>>(maxActors, now)
  const generations = createKeyGenerations(store, now)

  function cacheKeys(actor: string, pendingKeys: Promise<ActorKeys>): Promise<ActorKeys> {
    cachedKeys.set(actor, pendingKeys, cacheTtlMs)
    pendingKeys.catch(() => cachedKeys.delete(actor))
    return pendingKeys
  }

  async function loadKeys(actor: string): Promise<ActorKeys> {
    const path = actor.slice(origin.length)
    const times = await generations.listTimes(path)
    const newestGeneration = times.length
    const oldestGeneration = await generations.findOldestUnrevoked(path, newestGeneration)
    const isListedGeneration = (index: number) => index + 1 >= oldestGeneration && isListed(times, index, now())
    const listedGenerations = times
      .flatMap((_, index) => (isListedGeneration(index) ? [index + 1] : []))
      .slice(-maxListedKeys)
    const pairs = await Promise.all(listedGenerations.map(generation => generations.readKeys(actor, path, generation)))
    const listedKeys = pairs.reverse()
    const [currentPair = await generations.readKeys(actor, path, newestGeneration)] = listedKeys
    return { ...currentPair, listedKeys, actorCreatedAt: times[0] ?? currentPair.createdAt }
  }

  /** Creates the next generation after `previousKeys` have settled, because a search for the next generation must not run while it is created. */
  async function createNextKeys(
    actor: string,
    previousKeys: Promise<unknown> | undefined,
    options: RotateOptions | undefined,
  ): Promise<ActorKeys> {
    await previousKeys?.catch(() => undefined)
    await generations.addGeneration(actor.slice(origin.length), options)
    return loadKeys(actor)
  }

  return {
    find: actor => cachedKeys.get(actor) ?? cacheKeys(actor, loadKeys(actor)),
    rotate: (actor, options) => cacheKeys(actor, createNextKeys(actor, cachedKeys.get(actor), options)),
  }
}

/** Returns true if a generation is listed. The newest generation is listed, and each other one for a while after the next generation was created. */
function isListed(times: readonly string[], index: number, now: number): boolean {
  const replacedAt = times[index + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}
