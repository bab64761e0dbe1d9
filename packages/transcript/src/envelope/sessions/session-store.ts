// Implements the session store over the transcript, in which each session is a thread.
import type { System } from '@postern/message'
import { isoTime, Rejection } from '@postern/message'
import type { CodecFinding } from '../../codec/dialect.ts'
import { presentMembers } from '../../json/difference.ts'
import { formatUuidOf } from '../../json/uuid.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { reconcileEnvelopes } from '../codec.ts'
import { createSession, findPendingSession, openSession } from './open-session.ts'
import type { Session, SessionFilter, SessionPrincipal, SessionRow, SessionStore } from './session.ts'
import type { SessionDeps } from './session-rows.ts'
import {
  addMessages,
  changeSession,
  findSession,
  findSessionThread,
  listSessions,
  readSessionMessages,
  removeSession,
} from './session-rows.ts'

export function createSessionStore(deps: SessionDeps): SessionStore {
  const { transcript, system } = deps
  const now = () => isoTime(system.now())
  return {
    create: (principal, options) => createSession(principal, deps, options),
    open: (principal, options) => openSession(principal, deps, options),
    async get(principal, id) {
      const session = await findSession(principal, id, deps)
      return session && (await addMessages(principal, session.row, deps))
    },
    update: (principal, id, change) => updateSession(principal, id, change, deps),
    async updateTitle(principal, id, title) {
      return (await changeSession(principal, id, { title, updated_at: now() }, deps)) !== undefined
    },
    async markRead(principal, id) {
      return (await changeSession(principal, id, { last_read_at: now() }, deps)) !== undefined
    },
    remove: (principal, id) => removeSession(principal, id, deps),
    list: (principal, filter) => listFilteredSessions(principal, deps, filter),
    findPending: (principal, search) => findPendingSession(principal, deps, search),
    async acquireLock(principal, id, ttlSeconds = 300) {
      const thread = (await findSession(principal, id, deps)) && (await findSessionThread(principal, id, deps))
      return thread && (await transcript.acquireLock(thread, ttlSeconds * 1000))
    },
    async releaseLock(principal, id, token) {
      const thread = await findSessionThread(principal, id, deps)
      return thread !== undefined && (await transcript.releaseLock(thread, token))
    },
    findThread: (principal, id) => findSessionThread(principal, id, deps),
  }
}

async function updateSession(
  principal: SessionPrincipal,
  id: string,
  { messages, token, ...change }: Parameters<SessionStore['update']>[2],
  deps: SessionDeps,
): ReturnType<SessionStore['update']> {
  const { transcript, system } = deps
  const thread = (await findSession(principal, id, deps)) && (await findSessionThread(principal, id, deps))
  if (!thread) return undefined
  const storedEntries = await transcript.read(thread)
  const findings: CodecFinding[] = []
  const at = isoTime(system.now())
  const entries = reconcileEnvelopes(storedEntries, messages, {
    thread_id: thread.thread_id,
    at,
    newId: () => formatUuidOf(system),
    report: finding => findings.push(finding),
  })
  await transcript.replace(thread, entries, { token })
  const changedMembers = { ...presentMembers(change), updated_at: isoTime(system.now()) }
  const row = await changeSession(principal, id, changedMembers, deps)
  return row && { ...row, messages: await readSessionMessages(thread, deps), findings }
}

async function listFilteredSessions(
  principal: SessionPrincipal,
  deps: SessionDeps,
  filter: SessionFilter = {},
): Promise<readonly Session[]> {
  const { limit = 50, offset = 0, include_messages = false } = filter
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new Rejection('malformed', 'Cannot list sessions: limit must be 1 to 100')
  }
  const rows = await collectRows(listSessions(principal, deps), filter, offset, limit)
  return await Promise.all(
    rows.map(row => (include_messages ? addMessages(principal, row, deps) : { ...row, messages: [] })),
  )
}

async function collectRows(
  rows: AsyncIterable<SessionRow>,
  { agent_slug, context }: SessionFilter,
  offset: number,
  limit: number,
): Promise<readonly SessionRow[]> {
  const collectedRows: SessionRow[] = []
  for await (const row of rows) {
    const matchesAgent = agent_slug === undefined || row.agent_slug === agent_slug
    const matchesContext = context === undefined || row.context === context
    if (matchesAgent && matchesContext) collectedRows.push(row)
    if (collectedRows.length === offset + limit) break
  }
  return collectedRows.slice(offset)
}

/** Reserves a run's id for this owner permanently, so that a repeated request does not run twice. @throws Rejection replayed */
export async function claimRun(
  records: RecordStore,
  system: Pick<System, 'now'>,
  run: { owner: string; run_id: string },
): Promise<void> {
  const recordKey = { kind: 'run', owner: run.owner, key: run.run_id }
  const isFirst = await records.insert(recordKey, isoTime(system.now()))
  if (!isFirst) throw new Rejection('replayed', 'Cannot run: this run_id was used already')
}

/** A message from outside, with the facts that a channel knows. */
interface ExternalMessage {
  readonly connector_id: string
  readonly external_provider: string
  readonly external_message_id: string
  readonly from_self: boolean
  readonly text: string
}

/** Decides whether to accept a message from outside. It refuses echoes of our messages, empty events and repeated messages with a known id. */
export async function screenExternalMessage(
  records: RecordStore,
  system: Pick<System, 'now'>,
  message: ExternalMessage & { readonly owner: string; readonly ttlMs: number },
): Promise<'take' | 'silent_skip' | 'duplicate'> {
  const { owner, connector_id, external_provider, external_message_id, ttlMs } = message
  if (message.from_self || message.text.trim() === '') return 'silent_skip'
  const recordKey = {
    kind: 'external-message',
    owner,
    key: JSON.stringify([connector_id, external_provider, external_message_id]),
  }
  const now = system.now()
  if (await records.insert(recordKey, now)) return 'take'
  const record = await records.get(recordKey)
  const isForgotten = typeof record?.value === 'number' && record.value + ttlMs <= now
  return record && isForgotten && (await records.swap(recordKey, record.version, now)) ? 'take' : 'duplicate'
}
