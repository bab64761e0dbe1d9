import type { AgentDirectory, PlannedAct, WorkDesk, World } from '@postern/core'
import { createOccasion, isoTime, randomHex } from '@postern/core'
import type { ActorHouse } from './actor.ts'
import { renderActorUpdate } from './actor.ts'
import type { KeyRing } from './keys.ts'
import { agentIris } from './own-iris.ts'
import { toJson } from './reply-target.ts'

export interface ActorUpdateParts {
  readonly agents: AgentDirectory
  readonly desk: Pick<WorkDesk, 'act'>
  readonly keys: Pick<KeyRing, 'find'>
  readonly world: Pick<World, 'now' | 'randomBytes'>
  readonly house: ActorHouse
}

/** Tells those who follow these agents that their actors have other keys; durable when it resolves. */
export async function announceActors(names: readonly string[], parts: ActorUpdateParts): Promise<void> {
  const acts = await Promise.all(names.map(name => planUpdate(name, parts)))
  await parts.desk.act(acts.flat(), randomHex(parts.world, 8))
}

async function planUpdate(name: string, { agents, keys, world, house }: ActorUpdateParts): Promise<PlannedAct[]> {
  const agent = agents.find(name)
  if (!agent) return []
  const at = isoTime(world.now())
  const { actor } = agentIris(house.origin, name)
  const handshake = renderActorUpdate({ agent, keys: await keys.find(actor), house, at })
  const id = `update:${randomHex(world, 16)}`
  const place = { id, agent: name, address: `@${name}@${agents.domain}`, via: 'activitypub', threadId: id } as const
  const occasion = createOccasion({ ...place, scope: id, at, flag: 'actor_update' })
  const broadcasts = [{ relation: 'follower', target: toJson({ handshake, isIntroduction: true }) }] as const
  return [{ kind: 'tell', occasion, planned: { deliveries: [], broadcasts } }]
}
