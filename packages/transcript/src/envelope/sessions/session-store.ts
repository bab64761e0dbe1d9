import { isoTime, type Platform, Rejection } from '@postern/core'
import type { CodecFinding } from '../../codec/codec.ts'
import { formatUuidOf } from '../../json/uuid.ts'
import type { RecordKey, RecordStore, StoredRecord } from '../../store/record-store.ts'
import type { ThreadKey, TranscriptStore } from '../../store/transcript-store.ts'
import { envelopeCodec } from '../codec.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import { reconcileEnvelopes } from '../reconcile.ts'
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

interface SessionDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

const sessionKind = 'session'
const openingKind = 'session-opening'
const transport = 'envelope'
const pageSize = 100

export function createSessionStore({ transcript, records, platform }: SessionDeps): SessionStore {
  const now = (): string => isoTime(platform.now())
  const placeOf = ({ owner }: SessionPrincipal, key: string) => ({ kind: sessionKind, owner, key })

  async function findStored(
    principal: SessionPrincipal,
    id: string,
  ): Promise<(StoredRecord & { row: SessionRow }) | undefined> {
    const record = await records.get(placeOf(principal, id))
    const row = record && readRow(record)
    return row && isOwnRow(row, principal) ? { ...record, row } : undefined
  }

  async function findRow(principal: SessionPrincipal, id: string): ReturnType<typeof findStored> {
    const found = await findStored(principal, id)
    return found && !isExpired(found.row) ? found : undefined
  }

  function isExpired({ expires_at }: SessionRow): boolean {
    return expires_at !== null && Date.parse(expires_at) <= platform.now()
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
      if (await records.swap(placeOf(principal, id), found.version, row)) return row
    }
  }

  async function create(principal: SessionPrincipal, wanted: NewSession = {}): Promise<Session> {
    checkSessionOwner(principal)
    const row = buildSessionRow(principal, formatUuidOf(platform), now(), wanted)
    // The row comes first: whatever comes between, its owner can find it and delete it.
    const place = placeOf(principal, row.session_id)
    await records.insert(place, row)
    await transcript.openThread(principal.owner, { transport, key: row.session_id }).catch(async error => {
      await records.remove(place)
      throw error
    })
    return { ...row, messages: [] }
  }

  async function remove(principal: SessionPrincipal, id: string): Promise<void> {
    const found = await findStored(principal, id)
    if (!found) return
    const thread = await findThread(principal, id)
    if (thread) await transcript.forget(thread)
    const opening = openingPlaceOf(principal, found.row)
    if ((await records.get(opening))?.value === id) await records.remove(opening)
    await records.remove(placeOf(principal, id))
  }

  async function isPending(principal: SessionPrincipal, row: SessionRow, search: PendingSearch): Promise<boolean> {
    const { seconds = 600, context = 'chat', token_id } = search
    const isRecent = Date.parse(row.created_at) > platform.now() - seconds * 1000
    const isAsked = row.context === context && (token_id === undefined || row.token_id === token_id)
    const thread = isRecent && isAsked ? await findThread(principal, row.session_id) : undefined
    if (!thread) return false
    return (await transcript.read(thread, { limit: 1 })).length === 0 || (await transcript.isLocked(thread))
  }

  /** What is over goes when its owner has looked through his sessions: it takes room, and he cannot name it any more. */
  async function* listRows(principal: SessionPrincipal): AsyncGenerator<SessionRow> {
    const over: SessionRow[] = []
    try {
      yield* listValid(principal, over)
    } finally {
      for (const row of over.slice(0, pageSize)) {
        if (!(await isHeld(principal, row))) await remove(principal, row.session_id)
      }
    }
  }

  async function isHeld(principal: SessionPrincipal, { session_id }: SessionRow): Promise<boolean> {
    const thread = await findThread(principal, session_id)
    return thread !== undefined && (await transcript.isLocked(thread))
  }

  async function* listValid(principal: SessionPrincipal, over: SessionRow[]): AsyncGenerator<SessionRow> {
    for await (const found of listPages(principal)) {
      for (const row of found.map(readRow)) {
        if (!row || !isOwnRow(row, principal)) continue
        if (isExpired(row)) over.push(row)
        else yield row
      }
    }
  }

  /** Who has very many keeps nobody else waiting. */
  async function* listPages({ owner }: SessionPrincipal): AsyncGenerator<readonly StoredRecord[]> {
    for (let offset = 0; ; offset += pageSize) {
      const found = await records.list(sessionKind, owner, { limit: pageSize, offset })
      yield found
      if (found.length < pageSize) return
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  async function findPending(principal: SessionPrincipal, search: PendingSearch = {}): Promise<Session | undefined> {
    for await (const row of listRows(principal)) {
      if (await isPending(principal, row, search)) return await withMessages(principal, row)
    }
    return undefined
  }

  async function findOpened(
    principal: SessionPrincipal,
    opened: StoredRecord | undefined,
    search: PendingSearch,
  ): Promise<SessionRow | undefined> {
    const found = typeof opened?.value === 'string' ? await findRow(principal, opened.value) : undefined
    return found && (await isPending(principal, found.row, search)) ? found.row : undefined
  }

  /** False when another one was first. */
  function noteOpened(place: RecordKey, before: StoredRecord | undefined, id: string): Promise<boolean> {
    return before ? records.swap(place, before.version, id) : records.insert(place, id)
  }

  return {
    create,
    async open(principal, wanted = {}) {
      checkSessionOwner(principal)
      const { context = 'chat', agent_slug = '', token_id, seconds } = wanted
      const place = openingPlaceOf(principal, { context, agent_slug, token_id: token_id ?? null })
      for (;;) {
        const opened = await records.get(place)
        const pending = await findOpened(principal, opened, { seconds, context, token_id })
        if (pending) return await withMessages(principal, pending)
        const session = await create(principal, wanted)
        if (await noteOpened(place, opened, session.session_id)) return session
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
      const findings: CodecFinding[] = []
      const entries = reconcileEnvelopes(stored, messages, {
        thread_id: thread.thread_id,
        at: now(),
        newId: () => formatUuidOf(platform),
        report: finding => findings.push(finding),
      })
      await transcript.replace(thread, entries, { token })
      const present = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const row = await changeRow(principal, id, { ...present, updated_at: now() })
      return row && { ...row, messages: await readMessages(thread), findings }
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

type Opening = Pick<SessionRow, 'context' | 'agent_slug' | 'token_id'>

/** Which session of a kind was begun last: two that begin the same one at once find each other by it. */
function openingPlaceOf(
  { owner, workspace_type, workspace_id }: SessionPrincipal,
  { context, agent_slug, token_id }: Opening,
): RecordKey {
  const key = JSON.stringify([workspace_type, workspace_id, context, agent_slug, token_id ?? ''])
  return { kind: openingKind, owner, key }
}

function readRow({ value }: StoredRecord): SessionRow | undefined {
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
