import type { AgentHouse } from '@postern/agents'
import type { OutpostHouse } from '@postern/core'
import { actSchema, performActs, Rejection, randomHex } from '@postern/core'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest } from './request.ts'

export interface ActRouteOptions {
  readonly agents: Pick<AgentHouse, 'find' | 'domain'>
  readonly acting: OutpostHouse
}

const reading = {
  problem: (path: string) => `Cannot act: "${path || 'acts'}" is not well formed`,
  maxBytes: 8 * 1024 * 1024,
  maxDepth: 16,
}
const requestSchema = z.strictObject({ acts: z.array(actSchema).min(1).max(20) })

/** What an agent does of itself, on the word of whoever holds the operator token: posts, edits, deletions, reactions. */
export function createActRoutes({ agents, acting }: ActRouteOptions): Hono {
  return new Hono().post('/agents/:agent/acts', async context => {
    const agent = context.req.param('agent')
    if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
    const { acts } = await readOperatorRequest(context, requestSchema, reading)
    const named = acts.map(act => (act.act === 'post' ? { ...act, id: randomHex(acting.world, 16) } : act))
    await performActs(named, { agent, address: `@${agent}@${agents.domain}` }, acting)
    return context.json({ done: named.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) })
  })
}
