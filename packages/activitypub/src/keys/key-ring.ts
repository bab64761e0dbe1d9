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
const maxListed = 4

/**
 * The lifetime of loaded keys, ms. After it, this gateway sees a rotation by another one. In the meantime, peers reject posts that revoked keys
 * sign.
 */
const loadedMs = 5_000

const maxActors = 10_000

export function createKeyRing({ store, origin, now }: KeyRingDeps): KeyRing {
  const loaded = createExpiringMap<Promise<ActorKeys>>(maxActors, now)
  const generations = createKeyGenerations(store, now)

  function keep(actor: string, loading: Promise<ActorKeys>): Promise<ActorKeys> {
    loaded.set(actor, loading, loadedMs)
    loading.catch(() => loaded.delete(actor))
    return loading
  }

  async function load(actor: string): Promise<ActorKeys> {
    const path = actor.slice(origin.length)
    const times = await generations.listTimes(path)
    const newest = times.length
    const oldest = await generations.findOldest(path, newest)
    const isWanted = (at: number) => at + 1 >= oldest && isListed(times, at, now())
    const wanted = times.flatMap((_, at) => (isWanted(at) ? [at + 1] : [])).slice(-maxListed)
    const pairs = await Promise.all(wanted.map(generation => generations.read(actor, path, generation)))
    const listed = pairs.reverse()
    const [current = await generations.read(actor, path, newest)] = listed
    return { ...current, listed, actorMadeAt: times[0] ?? current.madeAt }
  }

  /** Creates the next generation after `before` has settled, because a search for the next generation must not run while it is created. */
  async function renew(
    actor: string,
    before: Promise<unknown> | undefined,
    options: RotateOptions | undefined,
  ): Promise<ActorKeys> {
    await before?.catch(() => undefined)
    await generations.add(actor.slice(origin.length), options)
    return load(actor)
  }

  return {
    find: actor => loaded.get(actor) ?? keep(actor, load(actor)),
    rotate: (actor, options) => keep(actor, renew(actor, loaded.get(actor), options)),
  }
}

/** Returns true if a generation is listed. The newest one is, and each other one for a while after the next was made. */
function isListed(times: readonly string[], at: number, now: number): boolean {
  const replacedAt = times[at + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}
