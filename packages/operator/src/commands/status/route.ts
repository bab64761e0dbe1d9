// Returns the state of the gateway, its agents and its settings, in the operator's API.
import type { Json } from '@postern/message'
import { operatorSubject, Rejection } from '@postern/message'
import type { AgentDirectory, Channel, OperatorStore, RequirementStore } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { withoutSecrets } from '../../why/reason.ts'
import type { OperatorQuestionStore } from '../questions/operator-questions.ts'

const countsSchema = z.record(z.string(), z.int())

const agentSchema = z.object({
  name: z.string(),
  address: z.string().describe('`@name@domain`.'),
  use: z.string().describe('Kind of the agent: `webhook`, `openai`, a module.'),
  url: z.string().optional().describe('URL that the gateway calls, without secrets.'),
  is_default: z.boolean(),
  is_paused: z.boolean().describe('True while its messages wait for an operator to resume it.'),
  description: z.string().optional(),
  page: z.string().describe('Public page of the agent.'),
  card: z.string().describe('A2A card of the agent.'),
  tokens: z.array(z.object({ model: z.string(), kind: z.string(), tokens: z.int() })).readonly(),
})

/** One value of the configuration, as the operator sees it. */
const listedSettingSchema = z.object({
  key: z.string().describe('Path of the value, with dots.'),
  value: z.custom<Json>().describe('JSON; a secret is `(set)`.'),
  source: z.enum(['file', 'environment', 'default', 'dev']),
})

export type ListedSetting = Readonly<z.infer<typeof listedSettingSchema>>

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
  agents: defineOperation({
    id: 'listAgents',
    method: 'GET',
    path: '/agents',
    summary: 'Lists the agents, with their addresses and the tokens that they have spent since the start.',
    task: 'list agents',
    answer: z.object({ agents: z.array(agentSchema).readonly() }),
  }),
  pause: defineOperation({
    id: 'pauseAgent',
    method: 'POST',
    path: '/agents/{agent}/{action}',
    summary: 'Pauses an agent, whose messages then wait, or resumes it.',
    task: 'pause agent',
    parameters: z.object({ agent: z.string(), action: z.enum(['pause', 'resume']) }),
    answer: z.object({ agent: z.string(), is_paused: z.boolean() }),
    refusals: { no_recipient: 'There is no agent of this name.' },
  }),
  settings: defineOperation({
    id: 'listSettings',
    method: 'GET',
    path: '/settings',
    summary: 'Lists every value of the configuration with its source; masks secrets.',
    task: 'list settings',
    answer: z.object({
      settings: z.array(listedSettingSchema).readonly(),
    }),
  }),
}

/** Counts the tokens that agents have spent since the start. */
interface AgentTokens {
  list(): readonly { readonly labels: Readonly<Record<string, string>>; readonly tokens: number }[]
}

/** Pauses and resumes agents, in every gateway of the store. */
interface AgentPauses {
  isPaused(agent: string): boolean
  setPaused(agent: string, isPaused: boolean): Promise<void>
}

interface StatusRouteOptions {
  readonly config: {
    readonly dev: boolean
    readonly store: string
    readonly agents: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  readonly store: Pick<OperatorStore, 'count'> & Pick<RequirementStore, 'listRequirements'>
  readonly agents: Pick<AgentDirectory, 'list' | 'find' | 'domain' | 'origin' | 'defaultAgent'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  readonly questions: Pick<OperatorQuestionStore, 'list'>
  readonly version: string
  readonly meter: AgentTokens
  readonly pauses: AgentPauses
  settings(): readonly ListedSetting[]
  readonly now: () => number
}

const maxListedRequirements = 100

export function createStatusRoutes(options: StatusRouteOptions): readonly OperatorRoute[] {
  const { config, store, agents, channels, questions, pauses: paused, settings, now } = options
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
    handleOperation(statusOperations.agents, async () => ({ agents: listAgents(options) })),
    handleOperation(statusOperations.pause, async ({ parameters: { agent, action } }) => {
      if (!agents.find(agent)) throw new Rejection('no_recipient', `Cannot ${action} agent: there is no "${agent}"`)
      await paused.setPaused(agent, action === 'pause')
      return { agent, is_paused: paused.isPaused(agent) }
    }),
    handleOperation(statusOperations.settings, async () => ({ settings: settings() })),
  ]
}

function listAgents({ config, agents, meter, pauses: paused }: StatusRouteOptions) {
  const { domain, origin, defaultAgent } = agents
  const spending = meter.list()
  return agents.list().map(({ name, description }) => {
    const { use, url, base_url } = config.agents[name] ?? {}
    const endpoint = url ?? base_url
    const agentSpending = spending.filter(({ labels }) => labels.agent === name)
    return {
      name,
      address: `@${name}@${domain}`,
      use: String(use),
      url: typeof endpoint === 'string' && URL.canParse(endpoint) ? withoutSecrets(endpoint) : undefined,
      is_default: name === defaultAgent,
      is_paused: paused.isPaused(name),
      description,
      page: `${origin}/agents/${name}`,
      card: `${origin}/agents/${name}/.well-known/agent-card.json`,
      tokens: agentSpending.map(({ labels, tokens }) => ({
        model: labels.model ?? '',
        kind: labels.kind ?? '',
        tokens,
      })),
    }
  })
}
