import type { AgentDeps } from '@postern/agents'
import type { Channel, OperatorStore, RequirementStore } from '@postern/core'
import { operatorSubject, Rejection } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { TokenMeter } from '../../observe/token-meter.ts'
import { softwareVersion } from '../../platform/version.ts'
import type { PausedAgents } from '../../work/paused-agents.ts'
import type { OperatorQuestionStore } from '../questions/questions.ts'
import type { ListedSetting } from './listed-setting.ts'
import { statusOperations } from './operations.ts'

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
    const own = spent.filter(({ labels }) => labels.agent === name)
    return {
      name,
      address: `@${name}@${domain}`,
      use: String(use),
      url: withoutSecrets(url ?? base_url),
      is_default: name === defaultAgent,
      is_paused: paused.isPaused(name),
      description,
      page: `${origin}/agents/${name}`,
      card: `${origin}/agents/${name}/.well-known/agent-card.json`,
      tokens: own.map(({ labels, tokens }) => ({ model: labels.model ?? '', kind: labels.kind ?? '', tokens })),
    }
  })
}

/** A URL may have a name, a password or a key in it. */
function withoutSecrets(url: unknown): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed ? `${parsed.origin}${parsed.pathname}` : undefined
}
