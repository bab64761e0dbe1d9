import type { AgentAccess } from './access.ts'
import { mayAccess } from './access.ts'
import type { DemandDecision, DemandRecord, Resolved } from './demand.ts'
import type { Desk } from './desk.ts'
import { Rejection } from './errors.ts'
import type { Admitted, Intake } from './intake.ts'
import type { ChannelName } from './message.ts'
import type { RelationEffect, RelationKind } from './relation.ts'

/** Where the caller waits for an answer he is told no; elsewhere a refusal would only tell strangers who may speak. */
const refusing: Readonly<Record<ChannelName, boolean>> = { a2a: true, web: true, activitypub: false, email: false }

/**
 * The desk, behind the agents' own lists of who may speak to them: every door comes by here. Who may not is refused (A2A,
 * web), or his message is kept, flag `not_allowed`, and no agent gets a turn. Of who may not any more no decision counts, either.
 */
export function guardAccess(desk: Desk, findAccess: (agent: string) => AgentAccess | undefined): Desk {
  async function isTurnedAway(demand: DemandRecord | undefined): Promise<boolean> {
    const access = demand && findAccess(demand.agent)
    const asked = access && (await desk.findMessage(`#${demand.message}`))
    return access !== undefined && asked !== undefined && !mayAccess(asked.message.sender, access)
  }

  return Object.assign(Object.create(desk) as Desk, {
    async admit(intake: Intake, correlationId: string): Promise<Admitted> {
      const access = findAccess(intake.agent)
      const isWelcome = !access || mayAccess(intake.message.sender, access)
      return desk.admit(isWelcome ? intake : turnAway(intake), correlationId)
    },
    async resolveDemand(decision: DemandDecision, correlationId: string): Promise<Resolved> {
      const demand = await desk.findDemand({ digest: decision.digest })
      if (await isTurnedAway(demand)) return { outcome: 'refused', reason: 'expired', demand }
      return desk.resolveDemand(decision, correlationId)
    },
    async endOverdue(id: string, correlationId?: string): Promise<number | undefined> {
      const isToldNothing = await isTurnedAway(await desk.findDemand({ id }))
      return desk.endOverdue(id, isToldNothing ? undefined : correlationId)
    },
  })
}

/** @throws Rejection `forbidden` */
function turnAway(intake: Intake): Intake {
  if (refusing[intake.message.received_via]) {
    throw new Rejection('forbidden', 'Cannot take message: its sender may not speak to this agent')
  }
  const { disposition, flags = [], effects = [], deliveries = [] } = intake
  const approaches = effects.some(isApproach)
  return {
    ...intake,
    disposition: 'keep',
    flags: approaches || disposition === 'answer' ? [...flags, 'not_allowed'] : flags,
    effects: effects.filter(effect => !isApproach(effect)),
    // What is said to whom an agent answers is not said to him.
    deliveries: approaches || disposition === 'answer' ? [] : deliveries,
  }
}

const approaching: ReadonlySet<RelationKind> = new Set(['follower', 'pending', 'correspondent'])

/** He does not become a follower or a correspondent, but may go, block, and take back what he said. */
function isApproach(effect: RelationEffect): boolean {
  return effect.kind === 'relate' && approaching.has(effect.relation)
}
