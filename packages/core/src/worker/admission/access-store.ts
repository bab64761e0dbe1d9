import { Rejection } from '../../format/errors.ts'
import type { AgentAccess } from '../../message/address/access.ts'
import { mayAccess } from '../../message/address/access.ts'
import type { ChannelName } from '../../message/message.ts'
import type { Admitted, Intake } from '../../ports/records/intake.ts'
import type { RelationEffect } from '../../ports/records/relation.ts'
import type { RelationKind } from '../../ports/records/relation-kind.ts'
import type { RequirementDecision, RequirementRecord, Resolved } from '../../ports/records/requirement-record.ts'
import type { Store } from '../../ports/store.ts'

/**
 * The store, behind the agents' own lists of who may speak to them: every endpoint comes by here. Who may not is refused where
 * peers wait for an answer (`answersCalls`), or the message is kept, flag `not_allowed`, and no agent gets a turn. Of who may not any more no
 * decision counts, either.
 */
export function guardAccess(
  store: Store,
  findAccess: (agent: string) => AgentAccess | undefined,
  answersCalls: (via: ChannelName) => boolean,
): Store {
  async function isTurnedAway(requirement: RequirementRecord | undefined): Promise<boolean> {
    const access = requirement && findAccess(requirement.agent)
    const asked = access && (await store.findMessage(`#${requirement.message}`))
    return access !== undefined && asked !== undefined && !mayAccess(asked.message.sender, access)
  }

  return Object.assign(Object.create(store) as Store, {
    async admit(intake: Intake, correlationId: string): Promise<Admitted> {
      const access = findAccess(intake.agent)
      const isWelcome = !access || mayAccess(intake.message.sender, access)
      return store.admit(isWelcome ? intake : turnAway(intake, answersCalls), correlationId)
    },
    async resolveRequirement(decision: RequirementDecision, correlationId: string): Promise<Resolved> {
      const requirement = await store.findRequirement({ digest: decision.digest })
      if (await isTurnedAway(requirement)) return { outcome: 'refused', reason: 'expired', requirement }
      return store.resolveRequirement(decision, correlationId)
    },
    async endOverdue(id: string, correlationId?: string): Promise<number | undefined> {
      const isToldNothing = await isTurnedAway(await store.findRequirement({ id }))
      return store.endOverdue(id, isToldNothing ? undefined : correlationId)
    },
  })
}

/** @throws Rejection `forbidden` */
function turnAway(intake: Intake, answersCalls: (via: ChannelName) => boolean): Intake {
  if (answersCalls(intake.message.received_via)) {
    throw new Rejection('forbidden', 'Cannot take message: its sender may not speak to this agent')
  }
  const { disposition, flags = [], effects = [], deliveries = [] } = intake
  const approaches = effects.some(isApproach)
  return {
    ...intake,
    disposition: 'keep',
    flags: approaches || disposition === 'answer' ? [...flags, 'not_allowed'] : flags,
    effects: effects.filter(effect => !isApproach(effect)),
    // What is told to those whom an agent answers is not told here.
    deliveries: approaches || disposition === 'answer' ? [] : deliveries,
  }
}

const approaching: ReadonlySet<RelationKind> = new Set(['follower', 'pending', 'correspondent'])

/** They do not become a follower or a correspondent, but may go, block, and take back what they said. */
function isApproach(effect: RelationEffect): boolean {
  return effect.kind === 'relate' && approaching.has(effect.relation)
}
