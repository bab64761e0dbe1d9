// Caches the keys of our own actors, and rotates them.

import { createExpiringMap } from '@postern/limits'
import type { LookupStore, RotateOptions } from '@postern/pipeline'
import type { ActorKeys, KeyRing } from './key-generations.ts'
import { createKeyGenerations } from './key-generations.ts'

interface KeyRingDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly origin: string
  now(): number
}

/** The time for which replaced keys stay listed, ms. It is longer than peers queue unverified activities. */
const overlapMs = 7 * 86_400_000

/** The most listed keys. Some peers read no more than these. */
const maxListedKeys = 4

/**
 * The lifetime of loaded keys, ms. After it, this gateway sees a rotation by another one. In the meantime, peers reject posts that revoked keys
 * sign.
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

  async function load(actor: string): Promise<ActorKeys> {
    const path = actor.slice(origin.length)
    const times = await generations.listTimes(path)
    const newestGeneration = times.length
    const oldestGeneration = await generations.findOldest(path, newestGeneration)
    const isListedGeneration = (index: number) => index + 1 >= oldestGeneration && isListed(times, index, now())
    const listedGenerations = times
      .flatMap((_, index) => (isListedGeneration(index) ? [index + 1] : []))
      .slice(-maxListedKeys)
    const pairs = await Promise.all(listedGenerations.map(generation => generations.read(actor, path, generation)))
    const listedKeys = pairs.reverse()
    const [currentPair = await generations.read(actor, path, newestGeneration)] = listedKeys
    return { ...currentPair, listedKeys, actorCreatedAt: times[0] ?? currentPair.createdAt }
  }

  /** Creates the next generation after `previous` has settled, because a search for the next generation must not run while it is created. */
  async function renew(
    actor: string,
    previous: Promise<unknown> | undefined,
    options: RotateOptions | undefined,
  ): Promise<ActorKeys> {
    await previous?.catch(() => undefined)
    await generations.add(actor.slice(origin.length), options)
    return load(actor)
  }

  return {
    find: actor => cachedKeys.get(actor) ?? cacheKeys(actor, load(actor)),
    rotate: (actor, options) => cacheKeys(actor, renew(actor, cachedKeys.get(actor), options)),
  }
}

/** Returns true if a generation is listed. The newest one is, and each other one for a while after the next was made. */
function isListed(times: readonly string[], index: number, now: number): boolean {
  const replacedAt = times[index + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}
