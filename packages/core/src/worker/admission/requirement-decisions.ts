import { mayAccess } from '../../message/address/access.ts'
import type { RequirementRecord } from '../../ports/records/requirement-record.ts'
import type { RequirementDecisions } from '../../ports/requirement-store.ts'
import type { Store } from '../../ports/store.ts'
import type { FindAccess } from './access-rule.ts'

type DecisionStore = Pick<Store, 'findRequirement' | 'findMessage' | 'resolveRequirement' | 'endOverdue'>

/** Decisions by the agents' own lists: once a person may no longer speak to an agent, no decision on their message counts. */
export function createRequirementDecisions(store: DecisionStore, findAccess: FindAccess): RequirementDecisions {
  async function isTurnedAway(requirement: RequirementRecord | undefined): Promise<boolean> {
    const access = requirement && findAccess(requirement.agent)
    const asked = access && (await store.findMessage(`#${requirement.message}`))
    return access !== undefined && asked !== undefined && !mayAccess(asked.message.sender, access)
  }

  return {
    async resolveRequirement(decision, correlationId) {
      const requirement = await store.findRequirement({ digest: decision.digest })
      if (await isTurnedAway(requirement)) return { outcome: 'refused', reason: 'expired', requirement }
      return store.resolveRequirement(decision, correlationId)
    },
    async endOverdue(id, correlationId) {
      const isToldNothing = await isTurnedAway(await store.findRequirement({ id }))
      return store.endOverdue(id, isToldNothing ? undefined : correlationId)
    },
  }
}
