// Explains the outcome of a message, refusal or delivery, in the operator's API.
import type { AgentDirectory, WhyStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { WhyAnswer } from '../../why/explanation.ts'
import { explainMessage, explainNothing, explainRefusal, whyAnswerSchema } from '../../why/explanation.ts'
import type { WhyFactDeps } from '../../why/facts.ts'
import { readWhyFacts } from '../../why/facts.ts'
import { parseWhyQuery } from '../../why/query.ts'

export const whyOperation = defineOperation({
  id: 'explain',
  method: 'GET',
  path: '/why/{id}',
  summary: 'Says why a message, refusal or delivery went as it did: the reason, the evidence, the fix.',
  task: 'explain',
  parameters: z.object({
    id: z
      .string()
      .describe(
        'A number (`3`, `#3`, `d3` of a delivery, `r3` of a refusal), an id, or the address of a sender or an agent; percent-encoded.',
      ),
  }),
  answer: whyAnswerSchema,
})

interface WhyRouteOptions extends WhyFactDeps {
  readonly store: WhyStore & WhyFactDeps['store']
  readonly agents: Pick<AgentDirectory, 'find' | 'domain'>
  now(): number
}

export function createWhyRoute(options: WhyRouteOptions): OperatorRoute {
  return handleOperation(whyOperation, ({ parameters: { id } }) => answerWhy(id, options))
}

/** Explains everything that an id, a number or an address names. @throws Rejection `malformed` */
async function answerWhy(query: string, { store, agents, agentConfigs, now }: WhyRouteOptions): Promise<WhyAnswer> {
  const agentNames = { domain: agents.domain, has: (name: string) => agents.find(name) !== undefined }
  const whyQuery = parseWhyQuery(query, agentNames)
  const [subject, refusals] = await Promise.all([store.findWhySubject(whyQuery), store.listWhyRefusals(whyQuery)])
  const askedAt = now()
  const refusalExplanations = refusals.map(refusal => explainRefusal(refusal, askedAt))
  if (!subject) {
    return refusalExplanations.length > 0
      ? { asked: query, found: 'refusal', explanations: refusalExplanations }
      : { asked: query, found: 'nothing', explanations: [explainNothing(query, askedAt)] }
  }
  const records = await store.listWhyRecords(subject.messages)
  const isAddress = subject.by === 'address'
  const facts = await readWhyFacts(records, askedAt, { store, agentConfigs })
  const explanations = facts.map(messageFacts => explainMessage(messageFacts, isAddress ? [] : refusals))
  if (!isAddress) return { asked: query, found: subject.by, explanations }
  const allExplanations = [...explanations, ...refusalExplanations]
  return {
    asked: query,
    found: 'address',
    explanations: allExplanations.toSorted((a, b) => b.since.localeCompare(a.since)),
  }
}
