import type { Channel, RelationKind, RelationStore } from '@postern/core'
import { Rejection, relationKinds } from '@postern/core'
import { Hono } from 'hono'
import { z } from 'zod'
import { readCursor, readOperatorRequest } from '../request.ts'

export interface FollowerOptions {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

const malformedDecision = 'Cannot decide: say "agent", its name, and "peer", the actor that asks'
const decisionSchema = z.object({ agent: z.string(), peer: z.string() })

/** Who stands how to an agent, and the operator's word on those who ask to follow it. */
export function createFollowerRoutes({ store, channels }: FollowerOptions): Hono {
  return new Hono()
    .get('/relations', async context => {
      const { agent = '', after } = context.req.query()
      const page = { limit: 100, after: readCursor(after) }
      const via = channels.find(channel => channel.decideFollow)?.descriptor.name ?? ''
      const relation = readRelationKind(context.req.query('relation') ?? 'follower')
      const relations = await store.listRelations({ via, agent, relation, ...page })
      return context.json({ relations, next: relations.at(-1)?.place ?? null })
    })
    .post('/follow-requests/:verdict{accept|reject}', async context => {
      const { agent, peer } = await readOperatorRequest(context, decisionSchema, { problem: malformedDecision })
      const isAccepted = context.req.param('verdict') === 'accept'
      const decided = await Promise.all(channels.map(channel => channel.decideFollow?.(agent, peer, isAccepted)))
      if (!decided.includes(true)) {
        throw new Rejection('no_recipient', 'Cannot decide: nobody of this name asks to follow that agent')
      }
      return context.json({ agent, peer, done: context.req.param('verdict') })
    })
}

function readRelationKind(text: string): RelationKind {
  const kind = relationKinds.find(name => name === text)
  if (kind) return kind
  throw new Rejection('malformed', `Cannot list: "relation" must be one of ${relationKinds.join(', ')}`)
}
