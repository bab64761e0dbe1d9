// Announces an actor's new key to a host, signed with the old key, before the new key signs deliveries.
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { Json, System } from '@postern/message'
import type { AgentDirectory } from '@postern/pipeline'
import { findHost } from '../format/iri.ts'
import { activityJson } from '../format/media-types.ts'
import type { ActorKeys, KeyPairs } from '../keys/key-generations.ts'
import type { SendSigned } from '../keys/send-signed.ts'
import type { JsonMembers } from '../posts/render-post.ts'
import type { ActorDeps } from './render-actor.ts'
import { renderActorUpdate } from './render-actor.ts'

/** The peer that an agent is about to address. */
export interface Recipient {
  /** The agent's name. */
  readonly agent: string
  readonly inbox: string
  /** The host of the inbox. */
  readonly host: string
  /** The actor that owns the inbox. Absent if the delivery is for several actors. */
  readonly peer?: string | undefined
}

export type KeyIntroductions = ReturnType<typeof createKeyIntroductions>

interface KeyIntroductionDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly system: Pick<System, 'now'>
  readonly send: SendSigned
  readonly gateway: ActorDeps
}

const postTimeoutMs = 10_000
const unprocessedStatuses: ReadonlySet<number> = new Set([404, 405, 410, 429])
const maxHosts = 20_000
/** The time for which a replaced key may stay listed, ms. */
const introducedTtlMs = 7 * 86_400_000

/** Returns the signing key that peers accept before they know the newest one, or the newest key if there is no other. */
export function chooseIntroducingKey({ listedKeys, requestKey }: ActorKeys): KeyPairs['requestKey'] {
  return listedKeys[1]?.requestKey ?? requestKey
}

/** Returns the destination that learns of a key at once: the whole host, or only the inbox if its owner is an actor of another host. */
function formatDestination({ host, inbox, peer }: Recipient): string {
  return peer === undefined || findHost(peer) === host ? host : inbox
}

/**
 * Addresses the update and its object to one peer. From actors that it does not follow, snac accepts only activities that are addressed to
 * its own users, and it reads the addressing of the object.
 */
function addressUpdate(peer: string | undefined, update: JsonMembers): JsonMembers {
  if (!peer) return update
  return { ...update, to: [peer], object: { ...(update.object as { readonly [name: string]: Json }), to: [peer] } }
}

/**
 * Creates the notices that announce a new key. Some servers cache an actor for a day or longer (snac: 36 hours). They answer 202 and then drop an
 * activity if its signature does not fit the cached key. So the old key signs a notice of the new key before the first activity that the new key
 * signs.
 */
export function createKeyIntroductions({ agents, system, send, gateway }: KeyIntroductionDeps) {
  const introducedKeys = createExpiringMap<true>(maxHosts, () => system.now())
  const singleFlight = createSingleFlight<void>()
  const formatCacheKey = (recipient: Recipient, { requestKey }: ActorKeys) =>
    `${requestKey.id} ${formatDestination(recipient)}`

  async function sendIntroduction(recipient: Recipient, keys: ActorKeys): Promise<void> {
    const { agent, inbox, peer } = recipient
    const profile = agents.find(agent)
    if (!profile) return
    // The time of the keys is used, so that every retry sends the same document.
    const update = renderActorUpdate({ agent: profile, keys, gateway, at: keys.createdAt })
    const body = { bytes: Buffer.from(JSON.stringify(addressUpdate(peer, update))), type: activityJson }
    const { status } = await send(
      { method: 'POST', url: inbox, body, timeoutMs: postTimeoutMs },
      chooseIntroducingKey(keys),
    )
    // A host that refuses the notice has fetched the actor and so knows the new key. A host that cannot accept the notice
    // now may still not know the key.
    if (!unprocessedStatuses.has(status) && status < 500) markIntroduced(recipient, keys)
  }

  /** Records that the host learns of the new key in another way. */
  function markIntroduced(recipient: Recipient, keys: ActorKeys): void {
    introducedKeys.set(formatCacheKey(recipient, keys), true, introducedTtlMs)
  }

  return {
    remember: markIntroduced,
    /** Sends the notice once to each host while the old key is listed. @throws Unavailable, or Undeliverable if the host cannot be reached */
    async introduce(recipient: Recipient, keys: ActorKeys): Promise<void> {
      const cacheKey = formatCacheKey(recipient, keys)
      if (introducedKeys.get(cacheKey)) return
      await singleFlight(cacheKey, () => sendIntroduction(recipient, keys))
    },
  }
}
