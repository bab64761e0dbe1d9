import type { AgentDirectory, Channel, PlannedAction, Platform, PublishedKey, WorkStore } from '@postern/core'
import { createSyntheticMessage, isoTime, Rejection, randomHex } from '@postern/core'
import { agentIris, instanceActorIri, toJson } from '../format/document.ts'
import type { KeyPairs, KeyRing } from '../keys/key-generations.ts'
import { activityPubDescriptor } from '../speaker.ts'
import type { ActorDeps } from './actor.ts'
import { renderActorUpdate } from './actor.ts'

interface KeyRotationDeps {
  readonly agents: AgentDirectory
  readonly store: Pick<WorkStore, 'act'>
  readonly keys: KeyRing
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly gateway: ActorDeps
}

/** Lists the keys of our actors, newest first, and replaces them. */
export function createKeyRotation(
  parts: KeyRotationDeps,
): Pick<Channel, 'publishedKeys'> & Required<Pick<Channel, 'rotateKeys'>> {
  const { agents, keys } = parts
  return {
    async publishedKeys() {
      const found = await Promise.all(findActors(agents).map(actor => keys.find(actor)))
      return found.flatMap(({ listed }) => listed.flatMap(describeKeys))
    },
    async rotateKeys(agent, options) {
      const renewed = await Promise.all(findActors(agents, agent).map(actor => keys.rotate(actor, options)))
      await announceActors(agent === undefined ? listNames(agents) : [agent], parts)
      return renewed.flatMap(describeKeys)
    },
  }
}

/** The actor of one agent, or all actors of this gateway. @throws Rejection `no_recipient` */
function findActors(agents: AgentDirectory, agent?: string): readonly string[] {
  const { origin } = agents
  if (agent === undefined) {
    return [...listNames(agents).map(name => agentIris(origin, name).actor), instanceActorIri(origin)]
  }
  if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
  return [agentIris(origin, agent).actor]
}

function listNames(agents: AgentDirectory): readonly string[] {
  return agents.list().map(({ name }) => name)
}

/**
 * Tells the followers of these agents that the keys of their actors changed. It is durable when the promise resolves.
 */
async function announceActors(names: readonly string[], parts: KeyRotationDeps): Promise<void> {
  const acts = await Promise.all(names.map(name => planUpdate(name, parts)))
  await parts.store.act(acts.flat(), randomHex(parts.platform, 8))
}

async function planUpdate(
  name: string,
  { agents, keys, platform, gateway }: KeyRotationDeps,
): Promise<PlannedAction[]> {
  const agent = agents.find(name)
  if (!agent) return []
  const at = isoTime(platform.now())
  const { actor } = agentIris(gateway.origin, name)
  const handshake = renderActorUpdate({ agent, keys: await keys.find(actor), gateway, at })
  const id = `update:${randomHex(platform, 16)}`
  const place = { id, agent: name, address: `@${name}@${agents.domain}`, channel: activityPubDescriptor, threadId: id }
  const synthetic = createSyntheticMessage({ ...place, scope: id, at, flag: 'actor_update' })
  const broadcasts = [{ relation: 'follower', target: toJson({ handshake, isIntroduction: true }) }] as const
  return [{ kind: 'tell', synthetic, planned: { deliveries: [], broadcasts } }]
}

function describeKeys({ request, document, madeAt }: KeyPairs): readonly PublishedKey[] {
  return [
    {
      purpose: 'ActivityPub HTTP signatures',
      id: request.id,
      algorithm: 'RSA-2048, rsa-sha256',
      publicKey: request.publicKeyPem,
      madeAt,
    },
    {
      purpose: 'ActivityPub object proofs',
      id: document.id,
      algorithm: 'Ed25519, eddsa-jcs-2022',
      publicKey: document.publicKeyMultibase,
      madeAt,
    },
  ]
}
