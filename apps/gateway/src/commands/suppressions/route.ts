import type { Channel, RelationStore } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import { Hono } from 'hono'
import { z } from 'zod'
import { readCursor, readOperatorRequest } from '../request.ts'

export interface SuppressionRouteOptions {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

const malformedLift = 'Cannot lift: say "agent", its name, and "peer", the address'
const liftSchema = z.object({ agent: z.string(), peer: z.string() })

/** Places nothing is sent to any more, the operator's word on them, and a message to ourselves. */
export function createSuppressionRoutes({ store, channels }: SuppressionRouteOptions): Hono {
  return new Hono()
    .get('/suppressions', async context => {
      const { agent = '', after } = context.req.query()
      const page = { limit: 100, after: readCursor(after) }
      const via = channels.find(channel => channel.liftSuppression)?.descriptor.name ?? ''
      const suppressions = await store.listRelations({ via, agent, relation: 'suppressed', ...page })
      return context.json({ suppressions, next: suppressions.at(-1)?.place ?? null })
    })
    .post('/suppressions/lift', async context => {
      const { agent, peer } = await readOperatorRequest(context, liftSchema, { problem: malformedLift })
      const lifted = await Promise.all(channels.map(channel => channel.liftSuppression?.(agent, peer)))
      if (!lifted.includes(true))
        throw new Rejection('no_recipient', 'Cannot lift: nothing to this address is suppressed for that agent')
      return context.json({ agent, peer, done: 'lift' })
    })
    .post('/probes/:via', async context => {
      const channel = findChannel(channels, context.req.param('via'))
      if (!channel?.probe) throw new Rejection('unsupported', 'Cannot probe: this channel has no way to')
      return context.json({ id: await channel.probe() })
    })
}
