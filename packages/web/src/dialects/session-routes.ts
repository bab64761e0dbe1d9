import type { Session, SessionPrincipal, SessionStore } from '@postern/transcript'
import { createSessionStore } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../deps.ts'
import { answerOwner, readTextMember } from '../endpoint/answer-owner.ts'
import type { WebOwner } from '../identity/speaker.ts'
import { projectSession } from './project-session.ts'
import {
  readSessionBody,
  readSessionFilter,
  readSessionSearch,
  readSessionUpdate,
  readWantedSession,
} from './session-requests.ts'

/** Whole sessions in one answer. */
const mostWithMessages = 10

interface SessionRequest {
  readonly sessions: SessionStore
  readonly principal: SessionPrincipal
  readonly id: string
  readonly deps: WebDeps
}

type Handle = (c: Context, request: SessionRequest) => Promise<object | undefined>

/** Sessions of message envelopes over HTTP. The credential names the owner; the routes refuse a body that names another one. */
export function createSessionRoutes(deps: WebDeps): Hono {
  const { bounded, records, gateway } = deps
  const sessions = createSessionStore({ transcript: bounded, records, platform: gateway.platform })
  const answer = (handle: Handle) =>
    answerOwner(deps, (c, owner) => {
      return handle(c, { sessions, principal: principalOf(owner), id: c.req.param('id') ?? '', deps })
    })
  const base = '/v1/sessions'
  return new Hono()
    .get(base, answer(listSessions))
    .post(base, answer(openSession))
    .get(`${base}/pending`, answer(findPending))
    .get(`${base}/:id`, answer(getSession))
    .get(`${base}/:id/provider`, answer(getProviderMessages))
    .put(`${base}/:id`, answer(updateSession))
    .put(`${base}/:id/title`, answer(updateTitle))
    .post(`${base}/:id/read`, answer(markRead))
    .delete(`${base}/:id`, answer(removeSession))
    .post(`${base}/:id/lock`, answer(acquireLock))
    .delete(`${base}/:id/lock`, answer(releaseLock))
}

const listSessions: Handle = async (c, { sessions, principal }) => {
  const { include_messages, ...filter } = readSessionFilter(c)
  if (!include_messages) return { sessions: await sessions.list(principal, filter) }
  const limit = Math.min(filter.limit ?? mostWithMessages, mostWithMessages)
  const rows = await sessions.list(principal, { ...filter, limit })
  return { sessions: await readAll(rows, sessions, principal) }
}

const openSession: Handle = async (c, { sessions, principal, deps }) => {
  return sessions.open(principal, readWantedSession(await readSessionBody(c, principal, deps)))
}

const findPending: Handle = (c, { sessions, principal }) => sessions.findPending(principal, readSessionSearch(c))

const getSession: Handle = (_, { sessions, principal, id }) => sessions.get(principal, id)

const getProviderMessages: Handle = async (c, { sessions, principal, id }) => {
  const session = await sessions.get(principal, id)
  return session && projectSession(session.messages, c.req.query('coalesce') === 'true')
}

const updateSession: Handle = async (c, { sessions, principal, id, deps }) => {
  const body = await readSessionBody(c, principal, deps)
  return sessions.update(principal, id, readSessionUpdate(body, deps.config.limits.session_messages))
}

const updateTitle: Handle = async (c, { sessions, principal, id, deps }) => {
  const title = readTextMember(await readSessionBody(c, principal, deps), 'title') ?? ''
  return (await sessions.updateTitle(principal, id, title)) ? { title } : undefined
}

const markRead: Handle = async (_, { sessions, principal, id }) => {
  return (await sessions.markRead(principal, id)) ? { read: true } : undefined
}

const removeSession: Handle = async (_, { sessions, principal, id }) => {
  await sessions.remove(principal, id)
  return { deleted: true }
}

const acquireLock: Handle = async (c, { sessions, principal, id, deps }) => {
  const { ttl } = await readSessionBody(c, principal, deps)
  const seconds = typeof ttl === 'number' ? Math.min(Math.max(ttl, 1), 3600) : undefined
  const lock = await sessions.acquireLock(principal, id, seconds)
  return lock ?? ((await sessions.get(principal, id)) && { token: null })
}

const releaseLock: Handle = async (c, { sessions, principal, id }) => {
  return { released: await sessions.releaseLock(principal, id, c.req.query('token') ?? '') }
}

/** One after the other, and other requests run in between. */
async function readAll(
  rows: readonly Session[],
  sessions: SessionStore,
  principal: SessionPrincipal,
): Promise<readonly Session[]> {
  const read: Session[] = []
  for (const { session_id } of rows) {
    await new Promise(resolve => setImmediate(resolve))
    const session = await sessions.get(principal, session_id)
    if (session) read.push(session)
  }
  return read
}

function principalOf({ owner, subject }: WebOwner): SessionPrincipal {
  return { owner, owner_type: 'user', owner_key: subject }
}
