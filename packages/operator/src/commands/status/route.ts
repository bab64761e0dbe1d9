// Returns the state of the gateway and its settings, in the operator's API.
import type { Json } from '@postern/message'
import { operatorSubject } from '@postern/message'
import type { AgentDirectory, Channel, OperatorStore, RequirementStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { listFilters, unknownNameRefusal } from '../../api/page.ts'
import type { OperatorQuestionStore } from '../questions/operator-questions.ts'

const countsSchema = z.record(z.string(), z.int())

/** One value of the configuration, as the operator sees it. */
const listedSettingSchema = z.object({
  key: z.string().describe('Path of the value, with dots.'),
  value: z.custom<Json>().describe('JSON; a secret is `(set)`.'),
  source: z.enum(['file', 'environment', 'default', 'dev']),
})

export type ListedSetting = Readonly<z.infer<typeof listedSettingSchema>>

/** Values of the configuration, and the number of agents whose values are left out. */
export interface SettingList {
  readonly settings: readonly ListedSetting[]
  readonly agents_left_out: number
}

export const statusOperations = {
  read: defineOperation({
    id: 'readStatus',
    method: 'GET',
    path: '/status',
    summary: 'Returns version, store, agents, and the number of waiting decisions.',
    task: 'read status',
    answer: z.object({
      version: z.string(),
      domain: z.string(),
      origin: z.string(),
      dev: z.boolean(),
      store: z.string().describe('`SQLite` or `PostgreSQL`.'),
      uptime_ms: z.int(),
      agents: z.int(),
      channels: z.array(z.string()).readonly(),
      waiting: z.int().describe('Requirements and questions that wait for an operator, at most 200.'),
      messages: countsSchema.describe('By state.'),
      deliveries: countsSchema.describe('By state.'),
      refusals: z.int(),
    }),
  }),
  settings: defineOperation({
    id: 'listSettings',
    method: 'GET',
    path: '/settings',
    summary: 'Lists every value of the configuration with its source; masks secrets.',
    task: 'list settings',
    query: z.object({
      agent: listFilters.agent.describe(
        'Only values of this agent; default: all but those of agents beyond the first 50.',
      ),
    }),
    answer: z.object({
      settings: z.array(listedSettingSchema).readonly(),
      agents_left_out: z.int().describe('Number of agents whose values the answer leaves out; `agent` asks for one.'),
    }),
    refusals: unknownNameRefusal,
  }),
}

interface StatusRouteOptions {
  readonly config: { readonly dev: boolean; readonly store: string }
  readonly store: Pick<OperatorStore, 'count'> & Pick<RequirementStore, 'listRequirements'>
  readonly agents: Pick<AgentDirectory, 'list' | 'domain' | 'origin'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  readonly questions: Pick<OperatorQuestionStore, 'list'>
  readonly version: string
  /** Lists the values of the configuration, or those of one agent. */
  settings(agent?: string): SettingList
  readonly now: () => number
}

const maxListedRequirements = 100

export function createStatusRoutes(options: StatusRouteOptions): readonly OperatorRoute[] {
  const { config, store, agents, channels, questions, settings, now } = options
  const startedAt = now()
  return [
    handleOperation(statusOperations.read, async () => {
      const openFilter = { limit: maxListedRequirements, status: 'open', subject: operatorSubject } as const
      const [counts, pendingQuestions, openRequirements] = await Promise.all([
        store.count(),
        questions.list(),
        store.listRequirements(openFilter),
      ])
      return {
        version: options.version,
        domain: agents.domain,
        origin: agents.origin,
        dev: config.dev,
        store: config.store === 'sqlite' ? 'SQLite' : 'PostgreSQL',
        uptime_ms: now() - startedAt,
        agents: agents.list().length,
        channels: channels.map(({ descriptor }) => descriptor.name),
        waiting: openRequirements.length + pendingQuestions.filter(({ answer }) => answer === undefined).length,
        messages: counts.messages,
        deliveries: counts.deliveries,
        refusals: counts.refusals,
      }
    }),
    handleOperation(statusOperations.settings, async ({ query: { agent } }) => settings(agent)),
  ]
}
