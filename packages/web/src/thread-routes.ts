import { Rejection } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { answerOwner } from './dialects/answer.ts'
import { aliasOfChat } from './history.ts'
import { parseThreadName } from './own-threads.ts'
import type { WebOwner } from './owner.ts'
import type { WebRooms } from './rooms.ts'
import { findAgentName } from './runs/start-run.ts'

/** What somebody has stored, and what gives room back: the end of a chat. */
export function createThreadRoutes(rooms: WebRooms): Hono {
  const routes = new Hono().get(
    '/v1/usage',
    answerOwner(rooms, async (_, { owner }) => {
      const { records: conversations, bytes } = await rooms.records.readRoom(owner)
      return { used: await rooms.transcript.readUsage(owner), most: rooms.room, kept: { conversations, bytes } }
    }),
  )
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.delete(
      `${base}/threads/:thread`,
      answerOwner(rooms, (c, owner) => endChat(c, owner, rooms)),
    )
  }
  return routes
}

/** Undefined when there is none. The thread comes last: cut off before, it is found and ended when it is asked for again. */
async function endChat(c: Context, { owner }: WebOwner, rooms: WebRooms): Promise<object | undefined> {
  const agent = findAgentName(c.req.param('agent'), rooms)
  const threadId = c.req.param('thread') ?? ''
  if (parseThreadName(threadId)) {
    throw new Rejection('forbidden', 'Cannot delete thread: it began elsewhere, and others have it, too')
  }
  const isChat = await rooms.forgetChat({ owner, agent, key: threadId })
  const thread = await rooms.transcript.findThread(owner, aliasOfChat(agent, threadId))
  if (thread) await rooms.transcript.forget(thread)
  return isChat || thread ? { deleted: true } : undefined
}
