import { readSharedRoom } from '@postern/agents'
import { Rejection } from '@postern/core'
import type { ShelfRoom } from '@postern/transcript'
import { Hono } from 'hono'

export interface SharedRouteOptions {
  readonly shelf: { readRoom(owner: string): Promise<ShelfRoom> }
  readonly agents: Readonly<Record<string, unknown>>
}

/** How much a swarm keeps for all of its conversations, and how much it may. */
export function createSharedRoutes({ shelf, agents }: SharedRouteOptions): Hono {
  return new Hono().get('/agents/:agent/shared', async context => {
    const agent = context.req.param('agent')
    const most = Object.hasOwn(agents, agent) ? readSharedRoom(agents[agent]) : undefined
    if (!most) throw new Rejection('no_recipient', 'Cannot show what is shared: there is no swarm of this name')
    return context.json({ agent, used: await shelf.readRoom(`agent:${agent}`), most })
  })
}
