import type { LookupStore, WhyStore } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { WhyFacts } from '../../why/facts.ts'
import { gatherWhyFacts } from '../../why/gather-facts.ts'
import { reasonOf } from '../../why/reasons.ts'
import { outcomeOperation } from './operations.ts'

interface OutcomeRouteOptions {
  readonly store: Pick<WhyStore, 'listWhyRecords'> & Pick<LookupStore, 'findResponse'>
  /** The member `agents` of the configuration. */
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  now(): number
}

/** A line for each message of a list. */
export function createOutcomeRoutes({ store, agentConfigs, now }: OutcomeRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(outcomeOperation, async ({ query: { messages } }) => {
      const records = await store.listWhyRecords([...new Set(messages.split(',').map(Number))])
      const facts = await gatherWhyFacts(records, now(), { store, agentConfigs })
      return { outcomes: facts.map(describeOutcome) }
    }),
  ]
}

function describeOutcome(facts: WhyFacts) {
  const { message, turn, answer, deliveries } = facts
  const { code, sentence } = reasonOf(facts)
  const endedAt = answer?.at ?? turn?.endedAt
  return {
    message: message.number,
    code,
    sentence,
    took_ms: endedAt === undefined ? undefined : Math.max(0, endedAt - message.receivedAt),
    deliveries: deliveries.filter(({ isAnswer }) => isAnswer).map(({ state }) => state),
  }
}
