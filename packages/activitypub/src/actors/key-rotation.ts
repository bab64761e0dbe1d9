// Lists and replaces the signing keys of actors, and announces new keys to followers.
import type { System } from '@postern/message'
import { isoTime, Rejection, randomHex } from '@postern/message'
import type { AgentDirectory, ChannelKeys, PlannedAction, PublishedKey, WorkStore } from '@postern/pipeline'
import { createSyntheticMessage, maxListedKeyOwners } from '@postern/pipeline'
import { agentIris, instanceActorIri } from '../format/own-iris.ts'
import { toStoredJson } from '../format/targets.ts'
import type { KeyPairs, KeyRing } from '../keys/key-generations.ts'
import { activityPubDescriptor } from '../speaker.ts'
import type { ActorDeps } from './render-actor.ts'
import { renderActorUpdate } from './render-actor.ts'

interface KeyRotationDeps {
  readonly agents: AgentDirectory
  readonly store: Pick<WorkStore, 'storeActions'>
  readonly keys: KeyRing
  readonly system: Pick<System, 'now' | 'randomBytes'>
  readonly gateway: ActorDeps
}

/** Creates the functions that list the keys of our actors, newest first, and replace them. */
export function createKeyRotation(deps: KeyRotationDeps): Required<ChannelKeys> {
  const { agents, keys } = deps
  return {
    async list(names = listNames(agents).slice(0, maxListedKeyOwners)) {
      const actors = [...names.map(name => agentIris(agents.origin, name).actor), instanceActorIri(agents.origin)]
      const actorKeys = await Promise.all(actors.map(actor => keys.find(actor)))
      return actorKeys.flatMap(({ listedKeys }) => listedKeys.flatMap(describeKeys))
    },
    async rotate(agent, options) {
      const newKeys = await Promise.all(findActors(agents, agent).map(actor => keys.rotate(actor, options)))
      await announceActors(agent === undefined ? listNames(agents) : [agent], deps)
      return newKeys.flatMap(describeKeys)
    },
  }
}

/** Returns the actor of one agent, or all actors of this gateway. @throws Rejection `no_recipient` */
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

/** Tells the followers of these agents that the keys of their actors have changed. The promise resolves once the notices are stored. */
async function announceActors(names: readonly string[], deps: KeyRotationDeps): Promise<void> {
  const actions = await Promise.all(names.map(name => planUpdate(name, deps)))
  await deps.store.storeActions(actions.flat(), randomHex(deps.system, 8))
}

async function planUpdate(name: string, { agents, keys, system, gateway }: KeyRotationDeps): Promise<PlannedAction[]> {
  const agent = agents.find(name)
  if (!agent) return []
  const at = isoTime(system.now())
  const { actor } = agentIris(gateway.origin, name)
  const handshake = renderActorUpdate({ agent, keys: await keys.find(actor), gateway, at })
  const id = `update:${randomHex(system, 16)}`
  const draft = {
    id,
    agent: name,
    address: `@${name}@${agents.domain}`,
    channel: activityPubDescriptor,
    threadSource: id,
  }
  const syntheticMessage = createSyntheticMessage({ ...draft, scope: id, at, flag: 'actor_update' })
  const broadcasts = [{ relation: 'follower', target: toStoredJson({ handshake, isIntroduction: true }) }] as const
  return [{ kind: 'tell', syntheticMessage, deliveryPlan: { deliveries: [], broadcasts } }]
}

function describeKeys({ requestKey, documentKey, createdAt }: KeyPairs): readonly PublishedKey[] {
  return [
    {
      purpose: 'ActivityPub HTTP signatures',
      id: requestKey.id,
      algorithm: 'RSA-2048, rsa-sha256',
      publicKey: requestKey.publicKeyPem,
      madeAt: createdAt,
    },
    {
      purpose: 'ActivityPub object proofs',
      id: documentKey.id,
      algorithm: 'Ed25519, eddsa-jcs-2022',
      publicKey: documentKey.publicKeyMultibase,
      madeAt: createdAt,
    },
  ]
}
