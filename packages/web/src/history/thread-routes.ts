// Lists a person's chats, shows their history and deletes them.
import { Rejection } from '@postern/message'
import type { OwnThread } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { agentPaths, answerOwner, maxThreadBytes, readAddressedAgent, readNumberQuery } from '../endpoint.ts'
import { listOwnScopes } from '../threads/own-threads.ts'
import { parseThreadName, threadNameOf } from '../threads/thread-name.ts'
import { aliasOfChat, findWebConversation } from '../threads/web-threads.ts'
import type { WebOwner } from '../verify.ts'
import type { HistoryAudience } from './show-history.ts'
import { showHistory } from './show-history.ts'

/** Creates the routes of a person's chats: their list, history and usage, and the deletion of one, which frees quota. */
export function createThreadRoutes(deps: WebDeps): Hono {
  const routes = new Hono().get('/v1/usage', answerOwner(deps, readUsage))
  for (const base of agentPaths) {
    routes.get(`${base}/threads`, answerOwner(deps, readThreads))
    routes.get(`${base}/history`, answerOwner(deps, readHistory))
    routes.delete(`${base}/threads/:thread`, answerOwner(deps, deleteChat))
  }
  return routes
}

async function readUsage(_: Context, { owner }: WebOwner, { records, transcript, quota }: WebDeps): Promise<object> {
  const { records: conversations, bytes } = await records.readQuota(owner)
  return { used: await transcript.readUsage(owner), most: quota, kept: { conversations, bytes } }
}

const [defaultListedThreads, maxListedThreads] = [50, 200]

/** Answers `GET …/threads`: the conversations of a person with an agent, newest first. */
async function readThreads(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const limit = Math.max(1, Math.min(readNumberQuery(c, 'limit') ?? defaultListedThreads, maxListedThreads))
  const beforePosition = readNumberQuery(c, 'before')
  const ownScopes = await listOwnScopes(owner, agent, deps)
  const { threads, next } = await deps.gateway.store.listOwnThreads({ ...ownScopes, limit, before: beforePosition })
  return { threads: threads.map(showThread), ...(next !== undefined && { next_before: next }) }
}

function showThread(thread: OwnThread): object {
  const { via, isShared, begunAt, lastAt, beginning } = thread
  const times = { begun_at: new Date(begunAt).toISOString(), last_at: new Date(lastAt).toISOString() }
  return { threadId: threadNameOf(thread), via, beginning, ...times, ...(isShared && { shared: true }) }
}

const maxPageSize = 200

/** Answers `GET …/history`: a range of a thread, ascending. */
async function readHistory(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const threadId = c.req.query('threadId')
  if (!threadId) throw new Rejection('malformed', 'Cannot read history: threadId is missing')
  const conversation = await findWebConversation({ owner, agent, threadId }, deps)
  if (!conversation) throw new Rejection('no_recipient', 'Cannot read history: there is no such thread')
  const [afterSeq, beforeSeq] = [readNumberQuery(c, 'after_seq'), readNumberQuery(c, 'before_seq')]
  const pageSize = Math.min(readNumberQuery(c, 'limit') ?? 50, maxPageSize)
  const showsTrace = c.req.query('include') === 'trace'
  if (showsTrace && !deps.config.trace)
    throw new Rejection('forbidden', 'Cannot read history: traces are for operators')
  const range = {
    ...(showsTrace ? {} : { chat: true }),
    after_seq: afterSeq,
    before_seq: beforeSeq,
    max_bytes: maxThreadBytes,
  }
  const entries = await deps.transcript.read(conversation.thread, {
    ...range,
    ...(afterSeq === undefined ? { tail: pageSize } : { limit: pageSize }),
  })
  const view: HistoryAudience = { owner: owner.owner, isJoined: conversation.joined !== undefined, showsTrace }
  const messages = await showHistory(entries, view, deps)
  const firstSeq = messages[0]?.seq ?? 1
  return { messages, ...(firstSeq > 1 && { next_before_seq: firstSeq }) }
}

/**
 * Deletes a chat. Returns undefined if there is none. The thread is deleted last, so that a repeated request can finish an interrupted deletion.
 */
async function deleteChat(c: Context, { owner }: WebOwner, deps: WebDeps): Promise<object | undefined> {
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
