// Serves sessions of message envelopes over HTTP.
import { isJsonObject, Rejection } from '@postern/message'
import type { AgentMessageEnvelope, Session, SessionPrincipal, SessionStore } from '@postern/transcript'
import {
  checkSessionOwner,
  coalesceEnvelopes,
  createSessionStore,
  findOrphanEnvelopes,
  pruneOrphanEnvelopes,
  toProviderMessages,
} from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { answerOwner, readJsonBody, readNumberQuery, readTextMember } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** The maximum number of whole sessions in one answer. */
const maxSessionsWithMessages = 10

interface SessionRequest {
  readonly sessions: SessionStore
  readonly principal: SessionPrincipal
  readonly id: string
  readonly deps: WebDeps
}

type Handle = (c: Context, request: SessionRequest) => Promise<object | undefined>

/** Creates the routes of sessions. The credential names the owner, and the routes refuse a body that names another one. */
export function createSessionRoutes(deps: WebDeps): Hono {
  const { limitedTranscript, records, gateway } = deps
  const sessions = createSessionStore({ transcript: limitedTranscript, records, system: gateway.system })
  const serve = (handle: Handle) =>
    answerOwner(deps, (c, owner) => {
      return handle(c, { sessions, principal: principalOf(owner), id: c.req.param('id') ?? '', deps })
    })
  const base = '/v1/sessions'
  return new Hono()
    .get(base, serve(listSessions))
    .post(base, serve(openSession))
    .get(`${base}/pending`, serve(findPending))
    .get(`${base}/:id`, serve(getSession))
    .get(`${base}/:id/provider`, serve(getProviderMessages))
    .put(`${base}/:id`, serve(updateSession))
    .put(`${base}/:id/title`, serve(updateTitle))
    .post(`${base}/:id/read`, serve(markRead))
    .delete(`${base}/:id`, serve(removeSession))
    .post(`${base}/:id/lock`, serve(acquireLock))
    .delete(`${base}/:id/lock`, serve(releaseLock))
}

const listSessions: Handle = async (c, { sessions, principal }) => {
  const { include_messages, ...filter } = readSessionFilter(c)
  if (!include_messages) return { sessions: await sessions.list(principal, filter) }
  const limit = Math.min(filter.limit ?? maxSessionsWithMessages, maxSessionsWithMessages)
  const rows = await sessions.list(principal, { ...filter, limit })
  return { sessions: await readSessions(rows, sessions, principal) }
}

const openSession: Handle = async (c, { sessions, principal, deps }) => {
  return sessions.open(principal, readNewSession(await readSessionBody(c, principal, deps)))
}

const findPending: Handle = (c, { sessions, principal }) => sessions.findPending(principal, readSessionSearch(c))

const getSession: Handle = (_, { sessions, principal, id }) => sessions.get(principal, id)

const getProviderMessages: Handle = async (c, { sessions, principal, id }) => {
  const session = await sessions.get(principal, id)
  return session && projectSession(session.messages, { coalesces: c.req.query('coalesce') === 'true' })
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

/** Loads sessions one after the other, so that other requests run in between. */
async function readSessions(
  rows: readonly Session[],
  sessions: SessionStore,
  principal: SessionPrincipal,
): Promise<readonly Session[]> {
  const loadedSessions: Session[] = []
  for (const { session_id } of rows) {
    await new Promise(resolve => setImmediate(resolve))
    const session = await sessions.get(principal, session_id)
    if (session) loadedSessions.push(session)
  }
  return loadedSessions
}

function principalOf({ owner, subject }: WebOwner): SessionPrincipal {
  return { owner, owner_type: 'user', owner_key: subject }
}

/** The maximum size of a session's metadata, in bytes. Every answer with the session contains it. */
const maxMetadataBytes = 16 * 1024

type SessionUpdate = Parameters<SessionStore['update']>[2]

/**
 * Reads the body of a request.
 * @throws Rejection malformed, too_large, or forbidden if it names another owner
 */
async function readSessionBody(
  c: Context,
  principal: SessionPrincipal,
  deps: WebDeps,
): Promise<Record<string, unknown>> {
  const body = await readJsonBody(c, deps)
  const [owner_type, owner_key] = [readTextMember(body, 'owner_type'), readTextMember(body, 'owner_key')]
  checkSessionOwner(principal, { owner_type, owner_key })
  return body
}

function readNewSession(body: Record<string, unknown>) {
  const names = ['agent_slug', 'context', 'title', 'token_id', 'expires_at'] as const
  const texts = Object.fromEntries(
    names.flatMap(name => {
      const text = readTextMember(body, name)
      return text === undefined ? [] : [[name, text]]
    }),
  )
  const metadata = readMetadata(body)
  return { ...texts, ...(metadata && { metadata }) }
}

/** Reads the change of a session. The list of messages is required. */
function readSessionUpdate(body: Record<string, unknown>, maxMessages: number): SessionUpdate {
  const { messages } = body
  if (!Array.isArray(messages)) throw new Rejection('malformed', 'Cannot update session: "messages" is no list')
  if (messages.length > maxMessages) {
    throw new Rejection('too_large', `Cannot update session: more than ${maxMessages} messages`)
  }
  const [provider, model, token] = ['provider', 'model', 'token'].map(name => readTextMember(body, name))
  const provider_response_id = readTextMember(body, 'provider_response_id')
  return { messages, provider, model, provider_response_id, token, metadata: readMetadata(body) }
}

/** Reads a map. PHP clients may write an empty map as `[]`. */
function readMetadata({ metadata }: Record<string, unknown>) {
  if (metadata === undefined || metadata === null) return undefined
  if (Array.isArray(metadata) && metadata.length === 0) return {}
  if (!isJsonObject(metadata)) throw new Rejection('malformed', 'Cannot read body: metadata is no object')
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes) {
    throw new Rejection('too_large', `Cannot read body: metadata is larger than ${maxMetadataBytes} bytes`)
  }
  return metadata as NonNullable<SessionUpdate['metadata']>
}

function readSessionFilter(c: Context) {
  const [agent_slug, context] = [c.req.query('agent_slug'), c.req.query('context')]
  const include_messages = c.req.query('include_messages') === 'true'
  return {
    limit: readNumberQuery(c, 'limit'),
    offset: readNumberQuery(c, 'offset'),
    agent_slug,
    context,
    include_messages,
  }
}

function readSessionSearch(c: Context) {
  return { seconds: readNumberQuery(c, 'seconds'), context: c.req.query('context'), token_id: c.req.query('token_id') }
}

/**
 * Returns a session's messages in the form that a model provider receives. The stored list does not change. `coalesces` joins adjacent messages of
 * one role, for providers that refuse them.
 */
function projectSession(messages: readonly AgentMessageEnvelope[], { coalesces }: { readonly coalesces: boolean }) {
  const completeMessages = pruneOrphanEnvelopes(messages)
  return {
    messages: toProviderMessages(coalesces ? coalesceEnvelopes(completeMessages) : completeMessages),
    // The findings are calls without results, and results without calls. No model receives them.
    findings: findOrphanEnvelopes(messages),
  }
}
