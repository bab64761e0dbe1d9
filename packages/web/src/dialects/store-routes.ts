// Serves an agent's message store over HTTP.
import { Rejection } from '@postern/message'
import type { EntryRange, MessageStore, StoreMessageType, TeamViewOptions, ThreadKey } from '@postern/transcript'
import { createTranscriptMessageStore, isMessageType, messageTypeNames, messageTypes } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { answerOwner, maxThreadBytes, readJsonBody, readNumberQuery, readTextMember } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** The maximum number of messages in one request. */
const maxAddedMessages = 500

/** Creates the routes of the message store: four views for reading, and one list for writing. A location is any text, encoded as one segment. */
export function createStoreRoutes(deps: WebDeps): Hono {
  const base = '/v1/store/:location'
  const serveView = (read: (store: MessageStore, location: string, c: Context) => Promise<readonly object[]>) =>
    answerOwner(deps, async (c, owner) => {
      const store = openStore(deps, owner, { max_bytes: maxThreadBytes, is_whole: true })
      return { messages: await read(store, locationOf(c), c) }
    })
  return new Hono()
    .get(
      '/v1/store-types',
      answerOwner(deps, async () => ({ types: messageTypes })),
    )
    .get(
      `${base}/conversation`,
      serveView((store, location, c) => store.listConversation(location, readRange(c))),
    )
    .get(
      `${base}/global`,
      serveView((store, location, c) => store.listGlobal(location, readRange(c))),
    )
    .get(
      `${base}/agents/:agent`,
      serveView((store, location, c) =>
        store.listAgent(location, c.req.param('agent') ?? '', { ...readRange(c), ...readTypes(c) }),
      ),
    )
    .get(
      `${base}/team`,
      serveView((store, location, c) => {
        const scope = readScope(c.req.query('limit_scope'))
        return store.listTeam(location, c.req.queries('agent_key') ?? [], {
          ...readRange(c),
          ...readTypes(c),
          ...scope,
        })
      }),
    )
    .post(`${base}/messages`, answerOwner(deps, addMessages))
    .delete(base, answerOwner(deps, deleteLocation))
}

async function addMessages(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const body = await readJsonBody(c, deps)
  const store = openStore(deps, owner, { max_bytes: maxThreadBytes })
  return { messages: await store.add(locationOf(c), readMessages(body), readTextMember(body, 'agent_key')) }
}

async function deleteLocation(c: Context, { owner }: WebOwner, { transcript }: WebDeps): Promise<object | undefined> {
  const thread = await transcript.findThread(owner, { transport: 'store', key: locationOf(c) })
  if (thread) await transcript.forget(thread)
  return thread && { deleted: true }
}

function readMessages({ messages }: Readonly<Record<string, unknown>>): readonly unknown[] {
  if (!Array.isArray(messages)) throw new Rejection('malformed', 'Cannot store messages: "messages" is no list')
  if (messages.length <= maxAddedMessages) return messages
  throw new Rejection('too_large', `Cannot store messages: more than ${maxAddedMessages} at once`)
}

function openStore({ limitedTranscript, gateway }: WebDeps, { owner }: WebOwner, bounds: EntryRange): MessageStore {
  const transcript = {
    ...limitedTranscript,
    read: (thread: ThreadKey, range: EntryRange = {}) => limitedTranscript.read(thread, { ...range, ...bounds }),
  }
  return createTranscriptMessageStore({ transcript, system: gateway.system, owner })
}

function locationOf(c: Context): string {
  const location = c.req.param('location') ?? ''
  if (location.length > 1024 || !location.isWellFormed()) {
    throw new Rejection('malformed', 'Cannot read location: it is longer than 1024 characters')
  }
  return location
}

function readRange(c: Context): { readonly limit?: number | undefined; readonly tail?: number | undefined } {
  return { limit: readNumberQuery(c, 'limit'), tail: readNumberQuery(c, 'tail') }
}

function readScope(limit_scope: string | undefined): Pick<TeamViewOptions, 'limit_scope'> {
  if (limit_scope === undefined) return {}
  if (limit_scope === 'total' || limit_scope === 'per_agent') return { limit_scope }
  throw new Rejection('malformed', 'Cannot read query: limit_scope must be total or per_agent')
}

function readTypes(c: Context): { readonly types?: readonly StoreMessageType[] } {
  const types = c.req.query('types')?.split(',')
  if (!types) return {}
  const unknownType = types.find(type => !isMessageType(type))
  if (unknownType !== undefined) {
    throw new Rejection('malformed', `Cannot read query: types must be of ${messageTypeNames.join(', ')}`)
  }
  return { types: types.filter(isMessageType) }
}
