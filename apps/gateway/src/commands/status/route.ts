import type { AgentDeps } from '@postern/agents'
import type { Channel, Json, OperatorStore, RequirementStore } from '@postern/core'
import { operatorSubject, Rejection } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { TokenMeter } from '../../observe/metrics.ts'
import { softwareVersion } from '../../platform/version.ts'
import { withoutSecrets } from '../../why/reason.ts'
import type { PausedAgents } from '../../work/paused-agents.ts'
import type { OperatorQuestionStore } from '../questions/route.ts'

const countsSchema = z.record(z.string(), z.int())

const agentSchema = z.object({
  name: z.string(),
  address: z.string().describe('`@name@domain`.'),
  use: z.string().describe('What answers: `webhook`, `openai`, a module.'),
  url: z.string().optional().describe('Its address, without secrets.'),
  is_default: z.boolean(),
  is_paused: z.boolean().describe('Its messages wait until an operator resumes it.'),
  description: z.string().optional(),
  page: z.string().describe('Its public page.'),
  card: z.string().describe('Its A2A card.'),
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
    summary: 'Says what runs: version, store, agents, and how much waits.',
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
    summary: 'Lists the agents, with their addresses and what they have spent since the start.',
    task: 'list agents',
    answer: z.object({ agents: z.array(agentSchema).readonly() }),
  }),
  pause: defineOperation({
    id: 'pauseAgent',
    method: 'POST',
    path: '/agents/{agent}/{action}',
    summary: 'Lets the messages of an agent wait, or lets it go on with them.',
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

interface StatusRouteOptions {
  readonly config: {
    readonly dev: boolean
    readonly store: string
    readonly agents: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  readonly store: Pick<OperatorStore, 'count'> & Pick<RequirementStore, 'listRequirements'>
  readonly agents: Pick<AgentDeps, 'list' | 'find' | 'domain' | 'origin' | 'defaultAgent'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  readonly questions: Pick<OperatorQuestionStore, 'list'>
  readonly meter: Pick<TokenMeter, 'list'>
  readonly paused: Pick<PausedAgents, 'isPaused' | 'setPaused'>
  settings(): readonly ListedSetting[]
  readonly now: () => number
}

const mostWaiting = 100

/** What runs, and how it is set up. */
export function createStatusRoutes(options: StatusRouteOptions): readonly OperatorRoute[] {
  const { config, store, agents, channels, questions, paused, settings, now } = options
  const startedAt = now()
  return [
    handleOperation(statusOperations.read, async () => {
      const open = { limit: mostWaiting, status: 'open', subject: operatorSubject } as const
      const [counts, asked, required] = await Promise.all([
        store.count(),
        questions.list(),
        store.listRequirements(open),
      ])
      return {
        version: softwareVersion,
        domain: agents.domain,
        origin: agents.origin,
        dev: config.dev,
        store: config.store === 'sqlite' ? 'SQLite' : 'PostgreSQL',
        uptime_ms: now() - startedAt,
        agents: agents.list().length,
        channels: channels.map(({ descriptor }) => descriptor.name),
        waiting: required.length + asked.filter(({ answer }) => answer === undefined).length,
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

function listAgents({ config, agents, meter, paused }: StatusRouteOptions) {
  const { domain, origin, defaultAgent } = agents
  const spent = meter.list()
  return agents.list().map(({ name, description }) => {
    const { use, url, base_url } = config.agents[name] ?? {}
    const called = url ?? base_url
    const own = spent.filter(({ labels }) => labels.agent === name)
    return {
      name,
      address: `@${name}@${domain}`,
      use: String(use),
      url: typeof called === 'string' && URL.canParse(called) ? withoutSecrets(called) : undefined,
      is_default: name === defaultAgent,
      is_paused: paused.isPaused(name),
      description,
      page: `${origin}/agents/${name}`,
      card: `${origin}/agents/${name}/.well-known/agent-card.json`,
      tokens: own.map(({ labels, tokens }) => ({ model: labels.model ?? '', kind: labels.kind ?? '', tokens })),
    }
  })
}
