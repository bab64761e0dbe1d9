import { Rejection } from '@postern/core'
import type { Session, SessionPrincipal, SessionStore } from '@postern/transcript'
import { checkSessionOwner, createSessionStore } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../deps.ts'
import { answerOwner, readJsonBody, readNumberQuery, readTextMember } from '../endpoint/answer-owner.ts'
import { isMap } from '../endpoint/is-map.ts'
import type { WebOwner } from '../speaker.ts'
import { projectSession } from './project-session.ts'

/** Bytes; it is in every answer that has the session. */
const mostMetadata = 16 * 1024

/** Whole sessions in one answer. */
const mostWithMessages = 10

type Handle = (
  c: Context,
  own: { readonly sessions: SessionStore; readonly principal: SessionPrincipal; readonly id: string },
) => Promise<object | undefined>

/** Sessions of message envelopes over HTTP. Whose they are the credential says; a body that names another owner is refused. */
export function createSessionRoutes(deps: WebDeps): Hono {
  const { bounded, records, gateway } = deps
  const sessions = createSessionStore({ transcript: bounded, records, platform: gateway.platform })
  const answer = (handle: Handle) =>
    answerOwner(deps, (c, owner) => handle(c, { sessions, principal: principalOf(owner), id: c.req.param('id') ?? '' }))
  const base = '/v1/sessions'
  return new Hono()
    .get(
      base,
      answer(async (c, { principal }) => {
        const { include_messages, ...filter } = readFilter(c)
        if (!include_messages) return { sessions: await sessions.list(principal, filter) }
        const limit = Math.min(filter.limit ?? mostWithMessages, mostWithMessages)
        const rows = await sessions.list(principal, { ...filter, limit })
        return { sessions: await readAll(rows, sessions, principal) }
      }),
    )
    .post(
      base,
      answer(async (c, { principal }) => {
        const body = await readBody(c, principal, deps)
        return sessions.open(principal, readWanted(body))
      }),
    )
    .get(
      `${base}/pending`,
      answer((c, { principal }) => sessions.findPending(principal, readSearch(c))),
    )
    .get(
      `${base}/:id`,
      answer((_, { principal, id }) => sessions.get(principal, id)),
    )
    .get(
      `${base}/:id/provider`,
      answer(async (c, { principal, id }) => {
        const session = await sessions.get(principal, id)
        return session && projectSession(session.messages, c.req.query('coalesce') === 'true')
      }),
    )
    .put(
      `${base}/:id`,
      answer(async (c, { principal, id }) => {
        const body = await readBody(c, principal, deps)
        if (!Array.isArray(body.messages))
          throw new Rejection('malformed', 'Cannot update session: "messages" is no list')
        const most = deps.config.limits.session_messages
        if (body.messages.length > most) {
          throw new Rejection('too_large', `Cannot update session: more than ${most} messages`)
        }
        const [provider, model, token] = ['provider', 'model', 'token'].map(name => readTextMember(body, name))
        const provider_response_id = readTextMember(body, 'provider_response_id')
        const change = { messages: body.messages, provider, model, provider_response_id, token }
        return sessions.update(principal, id, { ...change, metadata: readMetadata(body) })
      }),
    )
    .put(
      `${base}/:id/title`,
      answer(async (c, { principal, id }) => {
        const title = readTextMember(await readBody(c, principal, deps), 'title') ?? ''
        return (await sessions.updateTitle(principal, id, title)) ? { title } : undefined
      }),
    )
    .post(
      `${base}/:id/read`,
      answer(async (_, { principal, id }) => ((await sessions.markRead(principal, id)) ? { read: true } : undefined)),
    )
    .delete(
      `${base}/:id`,
      answer(async (_, { principal, id }) => {
        await sessions.remove(principal, id)
        return { deleted: true }
      }),
    )
    .post(
      `${base}/:id/lock`,
      answer(async (c, { principal, id }) => {
        const { ttl } = await readBody(c, principal, deps)
        const lock = await sessions.acquireLock(
          principal,
          id,
          typeof ttl === 'number' ? Math.min(Math.max(ttl, 1), 3600) : undefined,
        )
        return lock ?? ((await sessions.get(principal, id)) && { token: null })
      }),
    )
    .delete(
      `${base}/:id/lock`,
      answer(async (c, { principal, id }) => ({
        released: await sessions.releaseLock(principal, id, c.req.query('token') ?? ''),
      })),
    )
}

/** One after the other, with room for what others want in between. */
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

async function readBody(c: Context, principal: SessionPrincipal, deps: WebDeps): Promise<Record<string, unknown>> {
  const body = await readJsonBody(c, deps)
  const [owner_type, owner_key] = [readTextMember(body, 'owner_type'), readTextMember(body, 'owner_key')]
  checkSessionOwner(principal, { owner_type, owner_key })
  return body
}

function readWanted(body: Record<string, unknown>) {
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

/** An empty map may come as `[]`: PHP writes it so. */
function readMetadata({ metadata }: Record<string, unknown>) {
  if (metadata === undefined || metadata === null) return undefined
  if (Array.isArray(metadata) && metadata.length === 0) return {}
  if (!isMap(metadata)) throw new Rejection('malformed', 'Cannot read body: metadata is no object')
  if (Buffer.byteLength(JSON.stringify(metadata)) > mostMetadata) {
    throw new Rejection('too_large', `Cannot read body: metadata is larger than ${mostMetadata} bytes`)
  }
  return metadata as NonNullable<Parameters<SessionStore['update']>[2]['metadata']>
}

function readFilter(c: Context) {
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

function readSearch(c: Context) {
  return { seconds: readNumberQuery(c, 'seconds'), context: c.req.query('context'), token_id: c.req.query('token_id') }
}
