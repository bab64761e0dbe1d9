import { isJsonObject, Rejection } from '@postern/core'
import type { SessionPrincipal, SessionStore } from '@postern/transcript'
import { checkSessionOwner } from '@postern/transcript'
import type { Context } from 'hono'
import type { WebDeps } from '../deps.ts'
import { readJsonBody, readNumberQuery, readTextMember } from '../endpoint/answer-owner.ts'

/** Bytes. Every answer with the session contains it. */
const mostMetadata = 16 * 1024

type SessionUpdate = Parameters<SessionStore['update']>[2]

/** The body of a request. @throws Rejection malformed, too_large; forbidden if it names another owner */
export async function readSessionBody(
  c: Context,
  principal: SessionPrincipal,
  deps: WebDeps,
): Promise<Record<string, unknown>> {
  const body = await readJsonBody(c, deps)
  const [owner_type, owner_key] = [readTextMember(body, 'owner_type'), readTextMember(body, 'owner_key')]
  checkSessionOwner(principal, { owner_type, owner_key })
  return body
}

export function readWantedSession(body: Record<string, unknown>) {
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

/** The change of a session. The list of messages is required. */
export function readSessionUpdate(body: Record<string, unknown>, mostMessages: number): SessionUpdate {
  const { messages } = body
  if (!Array.isArray(messages)) throw new Rejection('malformed', 'Cannot update session: "messages" is no list')
  if (messages.length > mostMessages) {
    throw new Rejection('too_large', `Cannot update session: more than ${mostMessages} messages`)
  }
  const [provider, model, token] = ['provider', 'model', 'token'].map(name => readTextMember(body, name))
  const provider_response_id = readTextMember(body, 'provider_response_id')
  return { messages, provider, model, provider_response_id, token, metadata: readMetadata(body) }
}

/** PHP clients may write an empty map as `[]`. */
function readMetadata({ metadata }: Record<string, unknown>) {
  if (metadata === undefined || metadata === null) return undefined
  if (Array.isArray(metadata) && metadata.length === 0) return {}
  if (!isJsonObject(metadata)) throw new Rejection('malformed', 'Cannot read body: metadata is no object')
  if (Buffer.byteLength(JSON.stringify(metadata)) > mostMetadata) {
    throw new Rejection('too_large', `Cannot read body: metadata is larger than ${mostMetadata} bytes`)
  }
  return metadata as NonNullable<SessionUpdate['metadata']>
}

export function readSessionFilter(c: Context) {
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

export function readSessionSearch(c: Context) {
  return { seconds: readNumberQuery(c, 'seconds'), context: c.req.query('context'), token_id: c.req.query('token_id') }
}
