import type { AgentDeps } from '@postern/agents'
import type { PublisherDeps } from '@postern/core'
import { agentActionSchema, makeId, performActions, Rejection } from '@postern/core'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest } from '../request.ts'

export interface ActionRouteOptions {
  readonly agents: Pick<AgentDeps, 'find' | 'domain'>
  readonly acting: PublisherDeps
}

const reading = {
  problem: (path: string) => `Cannot act: "${path || 'acts'}" is not well formed`,
  maxBytes: 8 * 1024 * 1024,
  maxDepth: 16,
}
const requestSchema = z.strictObject({ acts: z.array(agentActionSchema).min(1).max(20) })

/** What an agent does of itself, on the word of whoever holds the operator token: posts, edits, deletions, reactions. */
export function createAgentActionRoutes({ agents, acting }: ActionRouteOptions): Hono {
  return new Hono().post('/agents/:agent/acts', async context => {
    const agent = context.req.param('agent')
    if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
    const { acts } = await readOperatorRequest(context, requestSchema, reading)
    const named = acts.map(act => (act.act === 'post' ? { ...act, id: makeId(acting.platform) } : act))
    await performActions(named, { agent, address: `@${agent}@${agents.domain}` }, acting)
    return context.json({ done: named.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) })
  })
}
