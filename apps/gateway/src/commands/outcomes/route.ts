import type { WhyRecord, WhyStore } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { describeWhyAgent } from '../../why/facts.ts'
import { reasonOf } from '../../why/reasons.ts'
import { outcomeOperation } from './operations.ts'

interface OutcomeRouteOptions {
  readonly store: Pick<WhyStore, 'listWhyRecords'>
  /** The member `agents` of the configuration. */
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  now(): number
}

/** A line for each message of a list. */
export function createOutcomeRoutes({ store, agentConfigs, now }: OutcomeRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(outcomeOperation, async ({ query: { messages } }) => {
      const records = await store.listWhyRecords([...new Set(messages.split(',').map(Number))])
      const at = now()
      return { outcomes: records.map(record => describeOutcome(record, agentConfigs, at)) }
    }),
  ]
}

function describeOutcome(record: WhyRecord, configs: OutcomeRouteOptions['agentConfigs'], now: number) {
  const { message, turn, answer, deliveries } = record
  const { code, sentence } = reasonOf({ ...record, now, agent: describeWhyAgent(configs[message.agent]) })
  const endedAt = answer?.at ?? turn?.endedAt
  return {
    message: message.number,
    code,
    sentence,
    took_ms: endedAt === undefined ? undefined : Math.max(0, endedAt - message.receivedAt),
    deliveries: deliveries.filter(({ isAnswer }) => isAnswer).map(({ state }) => state),
  }
}
