import type { AgentDirectory, Json, Platform } from '@postern/core'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import { activityJson, findHost } from '../format/document.ts'
import type { ActorKeys, KeyPairs } from '../keys/key-generations.ts'
import type { SendSigned } from '../keys/message-signing.ts'
import type { JsonMembers } from '../posts/answers.ts'
import type { ActorDeps } from './actor.ts'
import { renderActorUpdate } from './actor.ts'

/** The peer that an agent is about to address. */
export interface Recipient {
  /** The agent's name. */
  readonly agent: string
  readonly inbox: string
  /** The host of the inbox. */
  readonly host: string
  /** The owner of the inbox, where the delivery is for one actor. */
  readonly peer?: string | undefined
}

export type KeyIntroductions = ReturnType<typeof createKeyIntroductions>

interface KeyIntroductionDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly platform: Pick<Platform, 'now'>
  readonly send: SendSigned
  readonly gateway: ActorDeps
}

const postMs = 10_000
const unheardStatuses: ReadonlySet<number> = new Set([404, 405, 410, 429])
const maxHosts = 20_000
/** As long as the old key may be listed. */
const rememberMs = 7 * 86_400_000

/** The key whose signature peers believe before they know the newest one. The newest itself when there is no other. */
export function introducingKey({ listed, request }: ActorKeys): KeyPairs['request'] {
  return listed[1]?.request ?? request
}

/** A whole host. For an inbox that an actor of another host names there: that inbox alone. */
function placeOf({ host, inbox, peer }: Recipient): string {
  return peer === undefined || findHost(peer) === host ? host : inbox
}

/** snac accepts from people it does not follow only what is addressed to it, and looks for that in the object. */
function addressTo(peer: string | undefined, update: JsonMembers): JsonMembers {
  if (!peer) return update
  return { ...update, to: [peer], object: { ...(update.object as { readonly [name: string]: Json }), to: [peer] } }
}

/**
 * Some servers keep an actor for a day or longer, and drop what does not fit the key they hold, behind a 202 (snac: 36
 * hours). So the old key signs a notice of the new one, before anything comes that only the new key fits.
 */
export function createKeyIntroductions({ agents, platform, send, gateway }: KeyIntroductionDeps) {
  const told = createExpiringMap<true>(maxHosts, () => platform.now())
  const share = createSingleFlight<void>()
  const nameOf = (to: Recipient, { request }: ActorKeys) => `${request.id} ${placeOf(to)}`

  async function tell(to: Recipient, keys: ActorKeys): Promise<void> {
    const { agent, inbox, peer } = to
    const profile = agents.find(agent)
    if (!profile) return
    // The instant of the keys, so that every sending is the same document.
    const update = renderActorUpdate({ agent: profile, keys, gateway, at: keys.madeAt })
    const body = { bytes: Buffer.from(JSON.stringify(addressTo(peer, update))), type: activityJson }
    const { status } = await send({ method: 'POST', url: inbox, body, timeoutMs: postMs }, introducingKey(keys))
    // A host that refuses the notice has looked at the actor and knows the new key. A host that cannot take it now
    // proves nothing about the others.
    if (!unheardStatuses.has(status) && status < 500) remember(to, keys)
  }

  /** The host learns of the new key in another way. */
  function remember(to: Recipient, keys: ActorKeys): void {
    told.set(nameOf(to, keys), true, rememberMs)
  }

  return {
    remember,
    /** Once for each host while the old key is listed. @throws Unavailable, Undeliverable when the host cannot be reached */
    async introduce(to: Recipient, keys: ActorKeys): Promise<void> {
      const name = nameOf(to, keys)
      if (told.get(name)) return
      await share(name, () => tell(to, keys))
    },
  }
}
