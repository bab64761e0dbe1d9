import type { WhyStore } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { WhyFactDeps, WhyFacts } from '../../why/facts.ts'
import { gatherWhyFacts } from '../../why/facts.ts'
import { reasonOf } from '../../why/reasons.ts'

const outcomeSchema = z
  .object({
    message: z.int().describe('The gateway’s number of it.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('What became of it and why, in one line.'),
    took_ms: z.int().optional().describe('From its arrival until its turn was over; absent while it goes on.'),
    deliveries: z.array(z.string()).readonly().describe('State of each delivery of its answer.'),
  })
  .meta({ id: 'Outcome' })

const mostNumbers = 500

const outcomeOperation = defineOperation({
  id: 'listOutcomes',
  method: 'GET',
  path: '/outcomes',
  summary: 'Says of several messages at once what became of each: for lists.',
  task: 'list outcomes',
  query: z.object({
    messages: z
      .string()
      .regex(/^\d{1,15}(,\d{1,15}){0,499}$/, `must be up to ${mostNumbers} numbers, with commas between them`)
      .describe(`Numbers of messages, with commas between them; at most ${mostNumbers}.`),
  }),
  answer: z.object({ outcomes: z.array(outcomeSchema).readonly() }),
})

interface OutcomeRouteOptions extends WhyFactDeps {
  readonly store: Pick<WhyStore, 'listWhyRecords'> & WhyFactDeps['store']
  now(): number
}

/** A line for each message of a list. */
export function createOutcomeRoute({ store, agentConfigs, now }: OutcomeRouteOptions): OperatorRoute {
  return handleOperation(outcomeOperation, async ({ query: { messages } }) => {
    const records = await store.listWhyRecords([...new Set(messages.split(',').map(Number))])
    const facts = await gatherWhyFacts(records, now(), { store, agentConfigs })
    return { outcomes: facts.map(describeOutcome) }
  })
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
