import type { AgentDirectory, PlannedAction, Platform, WorkStore } from '@postern/core'
import { createSyntheticMessage, isoTime, randomHex } from '@postern/core'
import { agentIris } from '../format/own-iris.ts'
import { toJson } from '../format/reply-target.ts'
import type { KeyRing } from '../keys/keys.ts'
import { activityPubDescriptor } from '../speaker.ts'
import type { ActorDeps } from './actor.ts'
import { renderActorUpdate } from './actor.ts'

interface ActorUpdateDeps {
  readonly agents: AgentDirectory
  readonly store: Pick<WorkStore, 'act'>
  readonly keys: Pick<KeyRing, 'find'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly gateway: ActorDeps
}

/**
 * Tells the followers of these agents that the keys of their actors changed. It is durable when the promise resolves.
 */
export async function announceActors(names: readonly string[], parts: ActorUpdateDeps): Promise<void> {
  const acts = await Promise.all(names.map(name => planUpdate(name, parts)))
  await parts.store.act(acts.flat(), randomHex(parts.platform, 8))
}

async function planUpdate(
  name: string,
  { agents, keys, platform, gateway }: ActorUpdateDeps,
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
