import { isoTime, Rejection, type World } from '@postern/core'
import { formatUuidOf } from '../new-id.ts'
import type { RecordShelf, ShelfRecord, ThreadKey, TranscriptStore } from '../transcript-store.ts'
import type { AgentMessageEnvelope } from './envelope.ts'
import { envelopeCodec } from './envelope-codec.ts'
import { reconcileEnvelopes } from './reconcile-envelopes.ts'
import {
  buildSessionRow,
  checkSessionOwner,
  type NewSession,
  type Session,
  type SessionPrincipal,
  type SessionRow,
  sessionRowSchema,
} from './session.ts'
import type { PendingSearch, SessionFilter, SessionStore } from './session-port.ts'

export interface SessionDeps {
  readonly transcript: TranscriptStore
  readonly shelf: RecordShelf
  readonly world: Pick<World, 'now' | 'randomBytes'>
}

const sessionKind = 'session'
const openingKind = 'session-opening'
const transport = 'envelope'

export function createSessionStore({ transcript, shelf, world }: SessionDeps): SessionStore {
  const now = (): string => isoTime(world.now())
  const placeOf = ({ owner }: SessionPrincipal, key: string) => ({ kind: sessionKind, owner, key })

  async function findRow(
    principal: SessionPrincipal,
    id: string,
  ): Promise<(ShelfRecord & { row: SessionRow }) | undefined> {
    const record = await shelf.get(placeOf(principal, id))
    const row = record && readRow(record)
    return row && isOwnRow(row, principal) && !isExpired(row) ? { ...record, row } : undefined
  }

  function isExpired({ expires_at }: SessionRow): boolean {
    return expires_at !== null && Date.parse(expires_at) <= world.now()
  }

  async function readMessages(thread: ThreadKey | undefined): Promise<readonly AgentMessageEnvelope[]> {
    return thread ? envelopeCodec.write(await transcript.read(thread)) : []
  }

  async function withMessages(principal: SessionPrincipal, row: SessionRow): Promise<Session> {
    return { ...row, messages: await readMessages(await findThread(principal, row.session_id)) }
  }

  function findThread({ owner }: SessionPrincipal, key: string): Promise<ThreadKey | undefined> {
    return transcript.findThread(owner, { transport, key })
  }

  async function changeRow(
    principal: SessionPrincipal,
    id: string,
    change: Partial<SessionRow>,
  ): Promise<SessionRow | undefined> {
    for (;;) {
      const found = await findRow(principal, id)
      if (!found) return undefined
      const row = { ...found.row, ...change }
      if (await shelf.swap(placeOf(principal, id), found.version, row)) return row
    }
  }

  async function create(principal: SessionPrincipal, wanted: NewSession = {}): Promise<Session> {
    checkSessionOwner(principal)
    const row = buildSessionRow(principal, formatUuidOf(world), now(), wanted)
    await transcript.openThread(principal.owner, { transport, key: row.session_id })
    await shelf.insert(placeOf(principal, row.session_id), row)
    return { ...row, messages: [] }
  }

  async function remove(principal: SessionPrincipal, id: string): Promise<void> {
    const found = await findRow(principal, id)
    const thread = found && (await findThread(principal, id))
    if (thread) await transcript.forget(thread)
    if (found) await shelf.remove(placeOf(principal, id))
  }

  async function isPending(principal: SessionPrincipal, row: SessionRow, search: PendingSearch): Promise<boolean> {
    const { seconds = 600, context = 'chat', token_id } = search
    const isRecent = Date.parse(row.created_at) > world.now() - seconds * 1000
    const isAsked = row.context === context && (token_id === undefined || row.token_id === token_id)
    const thread = isRecent && isAsked ? await findThread(principal, row.session_id) : undefined
    if (!thread) return false
    return (await transcript.read(thread, { limit: 1 })).length === 0 || (await transcript.isLocked(thread))
  }

  async function* listRows(principal: SessionPrincipal): AsyncGenerator<SessionRow> {
    for (let offset = 0; ; offset += 100) {
      const records = await shelf.list(sessionKind, principal.owner, { limit: 100, offset })
      for (const record of records) {
        const row = readRow(record)
        if (row && isOwnRow(row, principal) && !isExpired(row)) yield row
      }
      if (records.length < 100) return
      // Who has very many keeps nobody else waiting.
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  async function findPending(principal: SessionPrincipal, search: PendingSearch = {}): Promise<Session | undefined> {
    for await (const row of listRows(principal)) {
      if (await isPending(principal, row, search)) return await withMessages(principal, row)
    }
    return undefined
  }

  return {
    create,
    async open(principal, wanted = {}) {
      checkSessionOwner(principal)
      const { context = 'chat', agent_slug = '', token_id = '', seconds } = wanted
      const key = JSON.stringify([principal.workspace_type, principal.workspace_id, context, agent_slug, token_id])
      const place = { kind: openingKind, owner: principal.owner, key }
      for (;;) {
        const opened = await shelf.get(place)
        const found = typeof opened?.value === 'string' ? await findRow(principal, opened.value) : undefined
        if (found && (await isPending(principal, found.row, { seconds, context, token_id: wanted.token_id }))) {
          return await withMessages(principal, found.row)
        }
        const session = await create(principal, wanted)
        const isFirst = opened
          ? await shelf.swap(place, opened.version, session.session_id)
          : await shelf.insert(place, session.session_id)
        if (isFirst) return session
        await remove(principal, session.session_id)
      }
    },
    async get(principal, id) {
      const found = await findRow(principal, id)
      return found && (await withMessages(principal, found.row))
    },
    async update(principal, id, { messages, token, ...change }) {
      const thread = (await findRow(principal, id)) && (await findThread(principal, id))
      if (!thread) return undefined
      const stored = await transcript.read(thread)
      const entries = reconcileEnvelopes(stored, messages, {
        thread_id: thread.thread_id,
        at: now(),
        newId: () => formatUuidOf(world),
      })
      await transcript.replace(thread, entries, { token })
      const present = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const row = await changeRow(principal, id, { ...present, updated_at: now() })
      return row && { ...row, messages: await readMessages(thread) }
    },
    async updateTitle(principal, id, title) {
      return (await changeRow(principal, id, { title, updated_at: now() })) !== undefined
    },
    async markRead(principal, id) {
      return (await changeRow(principal, id, { last_read_at: now() })) !== undefined
    },
    remove,
    async list(principal, filter = {}) {
      const { limit = 50, offset = 0, include_messages = false } = filter
      if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
        throw new Rejection('malformed', 'Cannot list sessions: limit must be 1 to 100')
      }
      const rows = await takeRows(listRows(principal), filter, offset, limit)
      return await Promise.all(
        rows.map(row => (include_messages ? withMessages(principal, row) : { ...row, messages: [] })),
      )
    },
    findPending,
    async acquireLock(principal, id, ttlSeconds = 300) {
      const thread = (await findRow(principal, id)) && (await findThread(principal, id))
      return thread && (await transcript.acquireLock(thread, ttlSeconds * 1000))
    },
    async releaseLock(principal, id, token) {
      const thread = await findThread(principal, id)
      return thread !== undefined && (await transcript.releaseLock(thread, token))
    },
    findThread,
  }
}

function readRow({ value }: ShelfRecord): SessionRow | undefined {
  return sessionRowSchema.safeParse(value).data
}

function isOwnRow(row: SessionRow, principal: SessionPrincipal): boolean {
  return row.workspace_type === (principal.workspace_type ?? '') && row.workspace_id === (principal.workspace_id ?? '')
}

async function takeRows(
  rows: AsyncIterable<SessionRow>,
  { agent_slug, context }: SessionFilter,
  offset: number,
  limit: number,
): Promise<readonly SessionRow[]> {
  const taken: SessionRow[] = []
  for await (const row of rows) {
    const isAgent = agent_slug === undefined || row.agent_slug === agent_slug
    const isContext = context === undefined || row.context === context
    if (isAgent && isContext) taken.push(row)
    if (taken.length === offset + limit) break
  }
  return taken.slice(offset)
}
