// Lists the agents, and pauses and resumes them, in the operator's API.
import { Rejection } from '@postern/message'
import type { AgentDirectory, AgentProfile, Page } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { FilteredPage } from '../../api/page.ts'
import { containsText, listFilters, pageOf, pageParameters, unknownNameRefusal } from '../../api/page.ts'
import { withoutSecrets } from '../../why/reason.ts'

const agentSchema = z
  .object({
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
  .meta({ id: 'Agent' })

export type ListedAgent = z.infer<typeof agentSchema>

export const agentOperations = {
  list: defineOperation({
    id: 'listAgents',
    method: 'GET',
    path: '/agents',
    summary: 'Lists the agents in the order of the file, with the tokens that they have spent since the start.',
    task: 'list agents',
    query: z.object({
      agent: listFilters.agent,
      name: listFilters.text.describe('Only agents whose name or displayed name contains this, in any case.'),
      ...pageParameters,
    }),
    answer: pageOf(agentSchema),
    refusals: unknownNameRefusal,
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

export interface AgentRouteOptions {
  readonly agentConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly agents: Pick<AgentDirectory, 'list' | 'find' | 'domain' | 'origin' | 'defaultAgent'>
  readonly meter: AgentTokens
  readonly pauses: AgentPauses
}

export function createAgentRoutes(options: AgentRouteOptions): readonly OperatorRoute[] {
  const { agents, pauses } = options
  return [
    handleOperation(agentOperations.list, async ({ query }) => {
      const { items, next } = findProfiles(query, agents)
      return { items: describeAgents(items, options), next }
    }),
    handleOperation(agentOperations.pause, async ({ parameters: { agent, action } }) => {
      if (!agents.find(agent)) throw new Rejection('no_recipient', `Cannot ${action} agent: there is no "${agent}"`)
      await pauses.setPaused(agent, action === 'pause')
      return { agent, is_paused: pauses.isPaused(agent) }
    }),
  ]
}

interface AgentQuery extends Page {
  readonly agent?: string | undefined
  readonly name?: string | undefined
}

/** Finds the agents of a page. The position of an agent in the list is its number. */
function findProfiles(
  { agent, name, limit, after = 0 }: AgentQuery,
  agents: AgentRouteOptions['agents'],
): FilteredPage<AgentProfile> {
  if (agent !== undefined) return { items: [agents.find(agent) ?? []].flat(), next: null }
  const profiles = agents.list()
  const items: AgentProfile[] = []
  for (let position = after; position < profiles.length; position += 1) {
    const profile = profiles[position]
    if (!profile || !(containsText(profile.name, name) || containsText(profile.displayName, name))) continue
    if (items.length === limit) return { items, next: position }
    items.push(profile)
  }
  return { items, next: null }
}

function describeAgents(
  profiles: readonly AgentProfile[],
  { agentConfigs, agents, meter, pauses }: AgentRouteOptions,
): readonly ListedAgent[] {
  const { domain, origin, defaultAgent } = agents
  const spendingByAgent = Map.groupBy(meter.list(), ({ labels }) => labels.agent)
  return profiles.map(({ name, description }) => {
    const { use, url, base_url } = agentConfigs[name] ?? {}
    const endpoint = url ?? base_url
    return {
      name,
      address: `@${name}@${domain}`,
      use: String(use),
      url: typeof endpoint === 'string' && URL.canParse(endpoint) ? withoutSecrets(endpoint) : undefined,
      is_default: name === defaultAgent,
      is_paused: pauses.isPaused(name),
      description,
      page: `${origin}/agents/${name}`,
      card: `${origin}/agents/${name}/.well-known/agent-card.json`,
      tokens: (spendingByAgent.get(name) ?? []).map(({ labels, tokens }) => ({
        model: labels.model ?? '',
        kind: labels.kind ?? '',
        tokens,
      })),
    }
  })
}
