import type { AgentDeps } from '@postern/agents'
import type { LookupStore, WhyStore } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { WhyAnswer } from '../../why/explanation.ts'
import { explainMessage, explainNothing, explainRefusal } from '../../why/explanation.ts'
import { gatherWhyFacts } from '../../why/gather-facts.ts'
import { parseWhyWords } from '../../why/words-asked.ts'
import { whyOperation } from './operations.ts'

interface WhyRouteOptions {
  readonly store: WhyStore & Pick<LookupStore, 'findResponse'>
  readonly agents: Pick<AgentDeps, 'find' | 'domain'>
  /** The member `agents` of the configuration. */
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  now(): number
}

/** Why somebody got no answer. */
export function createWhyRoutes(options: WhyRouteOptions): readonly OperatorRoute[] {
  return [handleOperation(whyOperation, ({ parameters: { id } }) => answerWhy(id, options))]
}

/** @throws Rejection `malformed` */
async function answerWhy(asked: string, { store, agents, agentConfigs, now }: WhyRouteOptions): Promise<WhyAnswer> {
  const names = { domain: agents.domain, has: (name: string) => agents.find(name) !== undefined }
  const words = parseWhyWords(asked, names)
  const [subject, refusals] = await Promise.all([store.findWhySubject(words), store.listWhyRefusals(words)])
  const at = now()
  if (!subject) {
    const explanations = refusals.map(refusal => explainRefusal(refusal, at))
    return explanations.length > 0
      ? { asked, found: 'refusal', explanations }
      : { asked, found: 'nothing', explanations: [explainNothing(asked, at)] }
  }
  const records = await store.listWhyRecords(subject.messages)
  const isAddress = subject.by === 'address'
  const facts = await gatherWhyFacts(records, at, { store, agentConfigs })
  const explanations = facts.map(each => explainMessage(each, isAddress ? [] : refusals))
  if (!isAddress) return { asked, found: subject.by, explanations }
  const all = [...explanations, ...refusals.map(refusal => explainRefusal(refusal, at))]
  return { asked, found: 'address', explanations: all.toSorted((one, other) => other.since.localeCompare(one.since)) }
}
