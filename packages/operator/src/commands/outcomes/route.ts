// Returns the outcome of each message of a list, in the operator's API.
import type { WhyStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { WhyFactDeps, WhyFacts } from '../../why/facts.ts'
import { readWhyFacts } from '../../why/facts.ts'
import { reasonOf } from '../../why/reasons.ts'

const outcomeSchema = z
  .object({
    message: z.int().describe('The gateway’s number of the message.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('Outcome and reason in one line.'),
    took_ms: z.int().optional().describe('Time from arrival to the end of the turn; absent while it goes on.'),
    deliveries: z.array(z.string()).readonly().describe('State of each delivery of its answer.'),
  })
  .meta({ id: 'Outcome' })

const maxNumbers = 500

const outcomeOperation = defineOperation({
  id: 'listOutcomes',
  method: 'GET',
  path: '/outcomes',
  summary: 'Lists the outcome of several messages at once.',
  task: 'list outcomes',
  query: z.object({
    messages: z
      .string()
      .regex(/^\d{1,15}(,\d{1,15}){0,499}$/, `must be up to ${maxNumbers} numbers, with commas between them`)
      .describe(`Numbers of messages, with commas between them; at most ${maxNumbers}.`),
  }),
  answer: z.object({ outcomes: z.array(outcomeSchema).readonly() }),
})

interface OutcomeRouteOptions extends WhyFactDeps {
  readonly store: Pick<WhyStore, 'listWhyRecords'> & WhyFactDeps['store']
  now(): number
}

export function createOutcomeRoute({ store, agentConfigs, now }: OutcomeRouteOptions): OperatorRoute {
  return handleOperation(outcomeOperation, async ({ query: { messages } }) => {
    const records = await store.listWhyRecords([...new Set(messages.split(',').map(Number))])
    const facts = await readWhyFacts(records, now(), { store, agentConfigs })
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
