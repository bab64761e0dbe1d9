import type { RememberedStore } from '@postern/core'
import { Rejection } from '@postern/core'
import { Hono } from 'hono'
import { readCursor } from '../request.ts'

const pageSize = 100

/** What was decided for later calls of tools, too: by those who were asked, and by operators. Whoever revokes it has it asked again. */
export function createApprovalRoutes(store: RememberedStore): Hono {
  return new Hono()
    .get('/agents/:agent/approvals', async context => {
      const { agent } = context.req.param()
      const after = readCursor(context.req.query('after'))
      const approvals = await store.listRemembered({ agent, after, limit: pageSize })
      const next = approvals.length < pageSize ? null : (approvals.at(-1)?.place ?? null)
      return context.json({ approvals, next })
    })
    .delete('/agents/:agent/approvals/:id', async context => {
      const { agent, id } = context.req.param()
      if (!(await store.revokeRemembered({ agent, id }))) {
        throw new Rejection('no_recipient', 'Cannot revoke approval: there is none with this id')
      }
      return context.json({ id, revoked: true })
    })
}
