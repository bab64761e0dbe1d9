import type { LookupStore, WhyRecord } from '@postern/core'
import { nameReplayAnswer } from '../replay/commit.ts'
import type { WhyFacts } from './facts.ts'
import { describeWhyAgent } from './facts.ts'

interface WhyFactDeps {
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
