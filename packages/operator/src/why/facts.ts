// Gathers the facts by which rules explain a message.
import type { TurnStep } from '@postern/message'
import type { LookupStore, OperatorStore, WhyRecord } from '@postern/pipeline'
import { nameReplayAnswer } from '../replay/commit.ts'
import { withoutSecrets } from './reason.ts'

/** The facts about a message, its agent and the time. Rules use nothing else. */
export interface WhyFacts extends WhyRecord {
  /** The present time, ms since 1970 UTC. */
  readonly now: number
  /** The agent's configuration; absent if the configuration no longer has the agent. */
  readonly agent?: WhyAgent | undefined
  /** Steps of the agent in its turn; present only if one message is explained. */
  readonly steps?: readonly TurnStep[] | undefined
  /** The answer of a replay; absent if there is none. */
  readonly replayAnswer?: { readonly at: number; readonly id: string } | undefined
}

/** The agent’s configuration, without secrets. */
export interface WhyAgent {
  readonly use: string
  /** The address of a remote agent, without query, user and password. */
  readonly url?: string | undefined
  /** The longest time for one turn, as the configuration has it. */
  readonly deadline: string
  /** The kinds of messages that the agent gets. */
  readonly receives: readonly string[]
}

/** Reads an agent from the member `agents` of the configuration. */
export function toWhyAgent(config: Readonly<Record<string, unknown>> | undefined): WhyAgent | undefined {
  if (!config) return undefined
  const { use, url, base_url, deadline, receives } = config
  const endpoint = url ?? base_url
  return {
    use: String(use),
    url: typeof endpoint === 'string' ? withoutSecrets(endpoint) : undefined,
    deadline: String(deadline),
    receives: Array.isArray(receives) ? receives.map(String) : ['message'],
  }
}

export interface WhyFactDeps {
  readonly store: Pick<LookupStore, 'findResponse'> & Pick<OperatorStore, 'findMessage'>
  /** The member `agents` of the configuration. */
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Gathers the facts of each record. */
export function readWhyFacts(records: readonly WhyRecord[], now: number, deps: WhyFactDeps): Promise<WhyFacts[]> {
  return Promise.all(
    records.map(async record => ({
      ...record,
      now,
      agent: toWhyAgent(deps.agentConfigs[record.message.agent]),
      replayAnswer: await findReplayAnswer(record, deps),
      ...(records.length === 1 && { steps: (await deps.store.findMessage(`#${record.message.number}`))?.steps }),
    })),
  )
}

/** Finds an answer that an operator gave by a replay, if the agent gave none or failed. */
async function findReplayAnswer(
  { message, answer }: WhyRecord,
  { store }: WhyFactDeps,
): Promise<WhyFacts['replayAnswer']> {
  if (answer && answer.status !== 'failed') return undefined
  const replayResponse = await store.findResponse(nameReplayAnswer(message.number, message.correlationId))
  return replayResponse && { at: Date.parse(replayResponse.response.created_at), id: replayResponse.response.id }
}
