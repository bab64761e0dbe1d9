import type { LookupStore, RotateOptions } from '@postern/core'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createKeyGenerations } from './key-generations.ts'
import type { KeyPairs } from './key-pairs.ts'

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

interface KeyRingDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly origin: string
  now(): number
}

/** How long keys stay listed after they were replaced: longer than peers keep what they have not yet verified. */
const overlapMs = 7 * 86_400_000
/** Some peers do not read more keys than these. */
const maxListed = 4
/** After this, another gateway's rotation is seen here too. */
const loadedMs = 60_000
const maxActors = 10_000

export function createKeyRing({ store, origin, now }: KeyRingDeps): KeyRing {
  const loaded = createExpiringMap<Promise<ActorKeys>>(maxActors, now)
  const generations = createKeyGenerations(store, now)

  function keep(actor: string, found: Promise<ActorKeys>): Promise<ActorKeys> {
    loaded.set(actor, found, loadedMs)
    found.catch(() => loaded.delete(actor))
    return found
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

  /** In turn: a look for the next generation must not meet its making. */
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

/** The newest generation is listed, and each other one for a while after the next was made. */
function isListed(times: readonly string[], at: number, now: number): boolean {
  const replacedAt = times[at + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}
