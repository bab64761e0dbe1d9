// Serves the inboxes of agents and the shared inbox.

import type { HotCall, HotHandler, PlainAnswer } from '@postern/http'
import { createHotRoute, problemStatusOf, toResponse } from '@postern/http'
import type { AgentDirectory, ChannelContext, Inbound } from '@postern/pipeline'
import { receive } from '@postern/pipeline'
import type { Context, Hono } from 'hono'
import type { ResolvedInboxRequest } from '../inbox/activity-kind.ts'
import type { InboxRequest } from '../verify.ts'

interface InboxRouteDeps extends Pick<ChannelContext, 'admission' | 'system' | 'store'> {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly inbound: Inbound<InboxRequest, ResolvedInboxRequest>
  /** Returns the answer for an agent that was removed, or undefined for every other one. */
  answerIfFormer(agent: string, path: string): Promise<PlainAnswer | undefined>
  renderError(error: unknown): PlainAnswer
}

/** Adds the inboxes. Each inbox answers 405 to every other method, because Hono would answer 404. */
export function addInboxRoutes(app: Hono, deps: InboxRouteDeps): void {
  const { agents, answerIfFormer } = deps
  const receiveDelivery = createInboxHandler(deps)
  async function receiveForAgent(call: HotCall): Promise<PlainAnswer> {
    const { agent = '', path } = call
    return (agents.find(agent) ? undefined : await answerIfFormer(agent, path)) ?? receiveDelivery(call)
  }
  app.post('/inbox', createHotRoute(receiveDelivery))
  app.post('/agents/:agent/inbox', createHotRoute(receiveForAgent))
  app.all('/inbox', refuseMethod)
  app.all('/agents/:agent/inbox', async context => {
    const answer = await answerIfFormer(context.req.param('agent'), context.req.path)
    return answer ? toResponse(answer) : refuseMethod(context)
  })
}

function createInboxHandler({ admission, store, system, inbound, renderError }: InboxRouteDeps): HotHandler {
  return async ({ request, from, agent }) => {
    const endpoint = agent === undefined ? 'POST /inbox' : 'POST /agents/:agent/inbox'
    const deps = { admission, store, system, from, endpoint, statusOf: problemStatusOf, request }
    try {
      await receive(inbound, { request, agent }, deps)
      return { status: 202, headers: {}, body: null }
    } catch (error) {
      return renderError(error)
    }
  }
}

function refuseMethod(context: Context): Response {
  return context.json({ title: 'Method Not Allowed', status: 405 }, 405, {
    allow: 'POST',
    'content-type': 'application/problem+json',
  })
}
