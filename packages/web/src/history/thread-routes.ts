import { Rejection } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../deps.ts'
import { readAddressedAgent } from '../endpoint/agent-name.ts'
import { answerOwner } from '../endpoint/answer-owner.ts'
import type { WebOwner } from '../identity/speaker.ts'
import { parseThreadName } from './own-threads.ts'
import { aliasOfChat } from './web-thread.ts'

/** How much a person has stored, and the deletion of a chat, which frees quota. */
export function createThreadRoutes(deps: WebDeps): Hono {
  const routes = new Hono().get(
    '/v1/usage',
    answerOwner(deps, async (_, { owner }) => {
      const { records: conversations, bytes } = await deps.records.readRoom(owner)
      return { used: await deps.transcript.readUsage(owner), most: deps.quota, kept: { conversations, bytes } }
    }),
  )
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.delete(
      `${base}/threads/:thread`,
      answerOwner(deps, (c, owner) => endChat(c, owner, deps)),
    )
  }
  return routes
}

/** Undefined when there is none. Forgets the thread last, so that a repeated request finds what an interrupted one left. */
async function endChat(c: Context, { owner }: WebOwner, deps: WebDeps): Promise<object | undefined> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const threadId = c.req.param('thread') ?? ''
  if (parseThreadName(threadId, deps)) {
    throw new Rejection('forbidden', 'Cannot delete thread: it began elsewhere, and others have it, too')
  }
  const isChat = await deps.forgetChat({ owner, agent, key: threadId })
  const thread = await deps.transcript.findThread(owner, aliasOfChat(agent, threadId))
  if (thread) await deps.transcript.forget(thread)
  return isChat || thread ? { deleted: true } : undefined
}
