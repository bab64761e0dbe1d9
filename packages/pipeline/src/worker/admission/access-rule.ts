// Refuses messages and decisions of people who may not speak to an agent.
import type { AgentAccess, ChannelName } from '@postern/message'
import { mayAccess, Rejection } from '@postern/message'
import type { AdmissionRule } from '../../ports/admission-rule.ts'
import type { Intake } from '../../ports/records/intake.ts'
import type { RelationKind } from '../../ports/records/planned-delivery.ts'
import type { RelationEffect } from '../../ports/records/relation.ts'
import type { RequirementRecord } from '../../ports/records/requirement-record.ts'
import type { RequirementDecisions } from '../../ports/store/requirement-store.ts'
import type { Store } from '../../ports/store/store.ts'

type FindAccess = (agent: string) => AgentAccess | undefined

/**
 * Creates the rule that applies the agents' own access lists. On a channel whose peers wait for an answer (`answersCalls`), everybody else is
 * refused. On other channels their message is kept with the flag `not_allowed`, and no agent gets a turn.
 */
export function createAccessRule(findAccess: FindAccess, answersCalls: (via: ChannelName) => boolean): AdmissionRule {
  return {
    name: 'access',
    admit(intake) {
      const access = findAccess(intake.agent)
      return !access || mayAccess(intake.message.sender, access) ? intake : refuseOrKeep(intake, answersCalls)
    },
  }
}

/** Refuses a message, or keeps it from the agent. @throws Rejection `forbidden` */
function refuseOrKeep(intake: Intake, answersCalls: (via: ChannelName) => boolean): Intake {
  if (answersCalls(intake.message.received_via)) {
    throw new Rejection('forbidden', 'Cannot take message: its sender may not speak to this agent')
  }
  const { disposition, flags = [], effects = [], deliveries = [] } = intake
  const hasContactEffect = effects.some(isContactEffect)
  return {
    ...intake,
    disposition: 'keep',
    flags: hasContactEffect || disposition === 'answer' ? [...flags, 'not_allowed'] : flags,
    effects: effects.filter(effect => !isContactEffect(effect)),
    // The sender of a message that the agent answers is not told here.
    deliveries: hasContactEffect || disposition === 'answer' ? [] : deliveries,
  }
}

const contactRelations: ReadonlySet<RelationKind> = new Set(['follower', 'pending', 'correspondent'])

/** Returns true if an effect is refused too: becoming a follower or a correspondent. Unfollowing, blocking and withdrawing stay possible. */
function isContactEffect(effect: RelationEffect): boolean {
  return effect.kind === 'relate' && contactRelations.has(effect.relation)
}

type DecisionStore = Pick<Store, 'findRequirement' | 'findMessage' | 'resolveRequirement' | 'endOverdue'>

/** Creates decisions that respect the agents' access lists: once a person may no longer speak to an agent, no decision on their message counts. */
export function createRequirementDecisions(store: DecisionStore, findAccess: FindAccess): RequirementDecisions {
  async function isExcluded(requirement: RequirementRecord | undefined): Promise<boolean> {
    const access = requirement && findAccess(requirement.agent)
    const askingMessage = access && (await store.findMessage(`#${requirement.message}`))
    return access !== undefined && askingMessage !== undefined && !mayAccess(askingMessage.message.sender, access)
  }

  return {
    async resolveRequirement(decision, correlationId) {
      const requirement = await store.findRequirement({ digest: decision.digest })
      if (await isExcluded(requirement)) return { outcome: 'refused', reason: 'expired', requirement }
      return store.resolveRequirement(decision, correlationId)
    },
    async endOverdue(id, correlationId) {
      const isSilent = await isExcluded(await store.findRequirement({ id }))
      return store.endOverdue(id, isSilent ? undefined : correlationId)
    },
  }
}
