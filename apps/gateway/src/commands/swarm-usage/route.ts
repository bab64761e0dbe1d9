import { readSharedQuota } from '@postern/agents'
import { Rejection } from '@postern/core'
import type { RecordQuota } from '@postern/transcript'
import { Hono } from 'hono'

interface SharedRouteOptions {
  readonly records: { readRoom(owner: string): Promise<RecordQuota> }
  readonly agents: Readonly<Record<string, unknown>>
}

/** How much a swarm keeps for all of its conversations, and how much it may. */
export function createSharedRoutes({ records, agents }: SharedRouteOptions): Hono {
  return new Hono().get('/agents/:agent/swarm-usage', async context => {
    const agent = context.req.param('agent')
    const most = Object.hasOwn(agents, agent) ? readSharedQuota(agents[agent]) : undefined
    if (!most) throw new Rejection('no_recipient', 'Cannot show what is shared: there is no swarm of this name')
    return context.json({ agent, used: await records.readRoom(`agent:${agent}`), most })
  })
}
