// Creates a chat session, or reopens a pending one of the same kind.
import { isoTime } from '@postern/message'
import { formatUuidOf } from '../../json/uuid.ts'
import type { RecordKey, StoredRecord } from '../../store/record-store.ts'
import type { NewSession, PendingSearch, Session, SessionPrincipal, SessionRow, SessionStore } from './session.ts'
import { buildSessionRow, checkSessionOwner } from './session.ts'
import type { SessionDeps } from './session-rows.ts'
import {
  addMessages,
  findSession,
  findSessionThread,
  keyOfOpening,
  keyOfSession,
  listSessions,
  removeSession,
  sessionTransport,
} from './session-rows.ts'

export async function createSession(
  principal: SessionPrincipal,
  deps: SessionDeps,
  options: NewSession = {},
): Promise<Session> {
  const { transcript, records, system } = deps
  checkSessionOwner(principal)
  const row = buildSessionRow(principal, formatUuidOf(system), isoTime(system.now()), options)
  // The row is stored first, so that its owner can find and delete the session after an interruption.
  const key = keyOfSession(principal, row.session_id)
  await records.insert(key, row)
  await transcript
    .openThread(principal.owner, { transport: sessionTransport, key: row.session_id })
    .catch(async error => {
      await records.remove(key)
      throw error
    })
  return { ...row, messages: [] }
}

/** Returns a pending session of the same kind, or creates one. */
export async function openSession(
  principal: SessionPrincipal,
  deps: SessionDeps,
  options: NonNullable<Parameters<SessionStore['open']>[1]> = {},
): Promise<Session> {
  checkSessionOwner(principal)
  const { context = 'chat', agent_slug = '', token_id, seconds } = options
  const key = keyOfOpening(principal, { context, agent_slug, token_id: token_id ?? null })
  for (;;) {
    const openedRecord = await deps.records.get(key)
    const pendingRow = await findOpenedRow(principal, openedRecord, { seconds, context, token_id }, deps)
    if (pendingRow) return await addMessages(principal, pendingRow, deps)
    const session = await createSession(principal, deps, options)
    if (await recordOpening(key, openedRecord, session.session_id, deps)) return session
    await removeSession(principal, session.session_id, deps)
  }
}

export async function findPendingSession(
  principal: SessionPrincipal,
  deps: SessionDeps,
  search: PendingSearch = {},
): Promise<Session | undefined> {
  for await (const row of listSessions(principal, deps)) {
    if (await isPending(principal, row, search, deps)) return await addMessages(principal, row, deps)
  }
  return undefined
}

async function findOpenedRow(
  principal: SessionPrincipal,
  openedRecord: StoredRecord | undefined,
  search: PendingSearch,
  deps: SessionDeps,
): Promise<SessionRow | undefined> {
  const session =
    typeof openedRecord?.value === 'string' ? await findSession(principal, openedRecord.value, deps) : undefined
  return session && (await isPending(principal, session.row, search, deps)) ? session.row : undefined
}

/** Records the latest session. Returns false if a concurrent opening was first. */
function recordOpening(
  key: RecordKey,
  previousRecord: StoredRecord | undefined,
  id: string,
  { records }: SessionDeps,
): Promise<boolean> {
  return previousRecord ? records.swap(key, previousRecord.version, id) : records.insert(key, id)
}

async function isPending(
  principal: SessionPrincipal,
  row: SessionRow,
  { seconds = 600, context = 'chat', token_id }: PendingSearch,
  deps: SessionDeps,
): Promise<boolean> {
  const { transcript, system } = deps
  const isRecent = Date.parse(row.created_at) > system.now() - seconds * 1000
  const isRequestedKind = row.context === context && (token_id === undefined || row.token_id === token_id)
  const thread = isRecent && isRequestedKind ? await findSessionThread(principal, row.session_id, deps) : undefined
  if (!thread) return false
  return (await transcript.read(thread, { limit: 1 })).length === 0 || (await transcript.isLocked(thread))
}
