import type { AgentDirectory, Channel, PeopleStore } from '@postern/core'
import { Rejection, readPersonAddress } from '@postern/core'
import { Hono } from 'hono'
import { z } from 'zod'
import { readCursor, readOperatorRequest } from '../request.ts'

export interface PeopleRouteOptions {
  readonly store: Pick<PeopleStore, 'listLinks' | 'forgetPerson'>
  readonly agents: Pick<AgentDirectory, 'domain'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
}

const problem =
  'Cannot forget: say "address", as @name@server.example or name@example.org, and "agent" if only one is to forget'
const forgettingSchema = z.strictObject({ address: z.string().max(400), agent: z.string().optional() })

/** Which addresses are of one person, and the operator's word that somebody is to be forgotten. */
export function createPeopleRoutes({ store, agents, channels }: PeopleRouteOptions): Hono {
  return new Hono()
    .get('/people', async context => {
      const { agent, after } = context.req.query()
      const links = await store.listLinks({ agent, limit: 100, after: readCursor(after) })
      return context.json({ links, next: links.at(-1)?.place ?? null })
    })
    .post('/people/forget', async context => {
      const { address, agent } = await readOperatorRequest(context, forgettingSchema, { problem })
      const named = readPersonAddress(address, channels, agents.domain)
      if (!named) throw new Rejection('malformed', problem)
      return context.json({
        address,
        agent: agent ?? null,
        ...(await store.forgetPerson({ agent, addresses: [named] })),
      })
    })
}
