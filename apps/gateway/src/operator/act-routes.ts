import type { AgentHouse } from '@postern/agents'
import type { OutpostHouse } from '@postern/core'
import { actSchema, performActs, Rejection, randomHex } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { z } from 'zod'

export interface ActRouteOptions {
  readonly agents: Pick<AgentHouse, 'find' | 'domain'>
  readonly acting: OutpostHouse
}

const maxBytes = 8 * 1024 * 1024
const requestSchema = z.strictObject({ acts: z.array(actSchema).min(1).max(20) })

/** What an agent does of itself, on the word of whoever holds the operator token: posts, edits, deletions, reactions. */
export function createActRoutes({ agents, acting }: ActRouteOptions): Hono {
  return new Hono().post('/agents/:agent/acts', async context => {
    const agent = context.req.param('agent')
    if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
    const { acts } = await readRequest(context)
    const named = acts.map(act => (act.act === 'post' ? { ...act, id: randomHex(acting.world, 16) } : act))
    await performActs(named, { agent, address: `@${agent}@${agents.domain}` }, acting)
    return context.json({ done: named.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) })
  })
}

async function readRequest(context: Context): Promise<z.infer<typeof requestSchema>> {
  const bytes = await readBody(context.req.raw, maxBytes)
  const request = requestSchema.safeParse(parseBoundedJson(bytes, { maxDepth: 16, what: 'request' }))
  if (request.success) return request.data
  const [issue] = request.error.issues
  throw new Rejection('malformed', `Cannot act: "${issue?.path.join('.') || 'acts'}" is not well formed`)
}
