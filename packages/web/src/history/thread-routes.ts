import type { OwnThread } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { answerOwner, maxRead, readAddressedAgent, readCount } from '../endpoint.ts'
import { aliasOfChat, findWebConversation, nameThread, parseThreadName } from '../resolve.ts'
import { listOwnPlaces } from '../threads/own-threads.ts'
import type { WebOwner } from '../verify.ts'
import { showHistory } from './show-history.ts'

/** A person's chats: their list, their history, how much they hold, and the deletion of one, which frees quota. */
export function createThreadRoutes(deps: WebDeps): Hono {
  const routes = new Hono().get('/v1/usage', answerOwner(deps, readUsage))
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.get(`${base}/threads`, answerOwner(deps, readThreads))
    routes.get(`${base}/history`, answerOwner(deps, readHistory))
    routes.delete(`${base}/threads/:thread`, answerOwner(deps, endChat))
  }
  return routes
}

async function readUsage(_: Context, { owner }: WebOwner, { records, transcript, quota }: WebDeps): Promise<object> {
  const { records: conversations, bytes } = await records.readRoom(owner)
  return { used: await transcript.readUsage(owner), most: quota, kept: { conversations, bytes } }
}

const [usual, most] = [50, 200]

/** `GET …/threads`: the conversations of a person with an agent, newest first. */
async function readThreads(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const limit = Math.max(1, Math.min(readCount(c, 'limit') ?? usual, most))
  const before = readCount(c, 'before')
  const whose = await listOwnPlaces(owner, agent, deps)
  const { threads, next } = await deps.gateway.store.listOwnThreads({ ...whose, limit, before })
  return { threads: threads.map(showThread), ...(next !== undefined && { next_before: next }) }
}

function showThread(thread: OwnThread): object {
  const { via, isShared, begunAt, lastAt, beginning } = thread
  const times = { begun_at: new Date(begunAt).toISOString(), last_at: new Date(lastAt).toISOString() }
  return { threadId: nameThread(thread), via, beginning, ...times, ...(isShared && { shared: true }) }
}

const maxPage = 200

/** `GET …/history`: a range of a thread, ascending. */
async function readHistory(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const threadId = c.req.query('threadId')
  if (!threadId) throw new Rejection('malformed', 'Cannot read history: threadId is missing')
  const found = await findWebConversation({ owner, agent, threadId }, deps)
  if (!found) throw new Rejection('no_recipient', 'Cannot read history: there is no such thread')
  const [after, before] = [readCount(c, 'after_seq'), readCount(c, 'before_seq')]
  const size = Math.min(readCount(c, 'limit') ?? 50, maxPage)
  const isTrace = c.req.query('include') === 'trace'
  if (isTrace && !deps.config.trace) throw new Rejection('forbidden', 'Cannot read history: traces are for operators')
  const range = { ...(isTrace ? {} : { chat: true }), after_seq: after, before_seq: before, max_bytes: maxRead }
  const entries = await deps.transcript.read(found.thread, {
    ...range,
    ...(after === undefined ? { tail: size } : { limit: size }),
  })
  const view = { owner: owner.owner, isJoined: found.joined !== undefined, isTrace }
  const messages = await showHistory(entries, view, deps)
  const first = messages[0]?.seq ?? 1
  return { messages, ...(first > 1 && { next_before_seq: first }) }
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
