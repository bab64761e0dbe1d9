import type { Channel, RelationDesk } from '@postern/core'
import { Rejection } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import { Hono } from 'hono'
import { z } from 'zod'

export interface MailRouteOptions {
  readonly desk: Pick<RelationDesk, 'listRelations'>
  readonly channels: readonly Channel[]
}

const liftSchema = z.object({ agent: z.string(), peer: z.string() })

/** Places nothing is sent to any more, the operator's word on them, and a message to ourselves. */
export function createMailRoutes({ desk, channels }: MailRouteOptions): Hono {
  return new Hono()
    .get('/suppressions', async context => {
      const { agent = '', after } = context.req.query()
      const page = { limit: 100, after: /^\d{1,15}$/.test(after ?? '') ? Number(after) : undefined }
      const suppressions = await desk.listRelations({ via: 'email', agent, relation: 'suppressed', ...page })
      return context.json({ suppressions, next: suppressions.at(-1)?.place ?? null })
    })
    .post('/suppressions/lift', async context => {
      const text = await context.req.text()
      const lift = liftSchema.safeParse(parseBoundedJson(Buffer.from(text), { maxDepth: 4, what: 'request' }))
      if (!lift.success) throw new Rejection('malformed', 'Cannot lift: say "agent", its name, and "peer", the address')
      const { agent, peer } = lift.data
      const lifted = await Promise.all(channels.map(channel => channel.liftSuppression?.(agent, peer)))
      if (!lifted.includes(true))
        throw new Rejection('no_recipient', 'Cannot lift: nothing to this address is suppressed for that agent')
      return context.json({ agent, peer, done: 'lift' })
    })
    .post('/probes/:via', async context => {
      const channel = channels.find(({ name }) => name === context.req.param('via'))
      if (!channel?.probe) throw new Rejection('unsupported', 'Cannot probe: this channel has no way to')
      return context.json({ id: await channel.probe() })
    })
}
