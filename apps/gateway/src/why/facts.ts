import type { LookupStore, WhyRecord } from '@postern/core'
import { nameReplayAnswer } from '../replay/commit.ts'
import { withoutSecrets } from './reason.ts'

/** What is known of a message, its agent and the clock. Rules look at nothing else. */
export interface WhyFacts extends WhyRecord {
  /** ms since 1970 UTC. */
  readonly now: number
  /** Absent when the configuration has no such agent any more. */
  readonly agent?: WhyAgent | undefined
  /** The answer that a replay gave. */
  readonly replayed?: { readonly at: number; readonly id: string } | undefined
}

/** An agent as the configuration has it, without secrets. */
export interface WhyAgent {
  readonly use: string
  /** Where it is called, when it is elsewhere: without query, name and password. */
  readonly url?: string | undefined
  /** Longest time for one turn, as it was written. */
  readonly deadline: string
  /** Kinds of messages that it is given. */
  readonly receives: readonly string[]
}

/** From the member `agents` of the configuration. */
export function describeWhyAgent(config: Readonly<Record<string, unknown>> | undefined): WhyAgent | undefined {
  if (!config) return undefined
  const { use, url, base_url, deadline, receives } = config
  const called = url ?? base_url
  return {
    use: String(use),
    url: typeof called === 'string' ? withoutSecrets(called) : undefined,
    deadline: String(deadline),
    receives: Array.isArray(receives) ? receives.map(String) : ['message'],
  }
}

export interface WhyFactDeps {
  readonly store: Pick<LookupStore, 'findResponse'>
  /** The member `agents` of the configuration. */
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** What the rules look at, of each record, at this moment. */
export function gatherWhyFacts(records: readonly WhyRecord[], now: number, deps: WhyFactDeps): Promise<WhyFacts[]> {
  return Promise.all(
    records.map(async record => ({
      ...record,
      now,
      agent: describeWhyAgent(deps.agentConfigs[record.message.agent]),
      replayed: await findReplayAnswer(record, deps),
    })),
  )
}

/** An operator may have answered, by a replay, what had no answer. */
async function findReplayAnswer({ message, answer }: WhyRecord, { store }: WhyFactDeps): Promise<WhyFacts['replayed']> {
  if (answer) return undefined
  const found = await store.findResponse(nameReplayAnswer(message.number, message.correlationId))
  return found && { at: Date.parse(found.response.created_at), id: found.response.id }
}
