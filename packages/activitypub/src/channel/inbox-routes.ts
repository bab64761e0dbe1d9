// Serves the inboxes of agents and the shared inbox.

import { peerAddress, problemStatusOf } from '@postern/http'
import type { ChannelContext, Inbound } from '@postern/pipeline'
import { receive } from '@postern/pipeline'
import type { Context, Hono } from 'hono'
import type { ResolvedInboxRequest } from '../inbox/activity-kind.ts'
import type { InboxRequest } from '../verify.ts'

interface InboxRouteDeps extends Pick<ChannelContext, 'admission' | 'system' | 'store'> {
  readonly inbound: Inbound<InboxRequest, ResolvedInboxRequest>
}

/** Adds the inboxes. Each inbox answers 405 to every other method, because Hono would answer 404. */
export function addInboxRoutes(app: Hono, { admission, store, system, inbound }: InboxRouteDeps): void {
  async function receiveDelivery(context: Context, agent?: string): Promise<Response> {
    await receive(
      inbound,
      { request: context.req.raw, agent },
      {
        admission,
        store,
        system,
        from: peerAddress(context.env),
        endpoint: agent === undefined ? 'POST /inbox' : 'POST /agents/:agent/inbox',
        statusOf: problemStatusOf,
        request: context.req.raw,
      },
    )
    return context.body(null, 202)
  }
  app.post('/inbox', context => receiveDelivery(context))
  app.post('/agents/:agent/inbox', context => receiveDelivery(context, context.req.param('agent')))
  app.all('/inbox', refuseMethod)
  app.all('/agents/:agent/inbox', refuseMethod)
}

function refuseMethod(context: Context): Response {
  return context.json({ title: 'Method Not Allowed', status: 405 }, 405, {
    allow: 'POST',
    'content-type': 'application/problem+json',
  })
}
