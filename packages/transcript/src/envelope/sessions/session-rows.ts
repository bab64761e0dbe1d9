// Reads, changes and removes the stored rows of chat sessions.
import type { System } from '@postern/message'
import type { RecordKey, RecordStore, StoredRecord } from '../../store/record-store.ts'
import type { ThreadKey, TranscriptStore } from '../../store/transcript-store.ts'
import { envelopeCodec } from '../codec.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import type { Session, SessionPrincipal, SessionRow } from './session.ts'
import { sessionRowSchema } from './session.ts'

export interface SessionDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

interface StoredSession extends StoredRecord {
  readonly row: SessionRow
}

export const sessionTransport = 'envelope'
const sessionKind = 'session'
const openingKind = 'session-opening'
const pageSize = 100

export function keyOfSession({ owner }: SessionPrincipal, key: string): RecordKey {
  return { kind: sessionKind, owner, key }
}

/** Returns the key of the record that names the latest session of its kind, so that two concurrent openings find each other. */
export function keyOfOpening(
  { owner, workspace_type, workspace_id }: SessionPrincipal,
  { context, agent_slug, token_id }: Pick<SessionRow, 'context' | 'agent_slug' | 'token_id'>,
): RecordKey {
  const key = JSON.stringify([workspace_type, workspace_id, context, agent_slug, token_id ?? ''])
  return { kind: openingKind, owner, key }
}

/** Finds the session's row unless it has expired. */
export async function findSession(
  principal: SessionPrincipal,
  id: string,
  deps: SessionDeps,
): Promise<StoredSession | undefined> {
  const session = await findStored(principal, id, deps)
  return session && !isExpired(session.row, deps) ? session : undefined
}

export function findSessionThread(
  { owner }: SessionPrincipal,
  key: string,
  { transcript }: SessionDeps,
): Promise<ThreadKey | undefined> {
  return transcript.findThread(owner, { transport: sessionTransport, key })
}

export async function readSessionMessages(
  thread: ThreadKey | undefined,
  { transcript }: SessionDeps,
): Promise<readonly AgentMessageEnvelope[]> {
  return thread ? envelopeCodec.write(await transcript.read(thread)) : []
}

export async function addMessages(principal: SessionPrincipal, row: SessionRow, deps: SessionDeps): Promise<Session> {
  const thread = await findSessionThread(principal, row.session_id, deps)
  return { ...row, messages: await readSessionMessages(thread, deps) }
}

/** Retries the change until no other writer interferes. */
export async function changeSession(
  principal: SessionPrincipal,
  id: string,
  change: Partial<SessionRow>,
  deps: SessionDeps,
): Promise<SessionRow | undefined> {
  for (;;) {
    const session = await findSession(principal, id, deps)
    if (!session) return undefined
    const row = { ...session.row, ...change }
    if (await deps.records.swap(keyOfSession(principal, id), session.version, row)) return row
  }
}

export async function removeSession(principal: SessionPrincipal, id: string, deps: SessionDeps): Promise<void> {
  const { transcript, records } = deps
  const session = await findStored(principal, id, deps)
  if (!session) return
  const thread = await findSessionThread(principal, id, deps)
  if (thread) await transcript.forget(thread)
  const openingKey = keyOfOpening(principal, session.row)
  if ((await records.get(openingKey))?.value === id) await records.remove(openingKey)
  await records.remove(keyOfSession(principal, id))
}

/** Lists the owner's sessions, newest first. Afterwards it removes expired sessions, which take up space and which the owner can no longer access. */
export async function* listSessions(principal: SessionPrincipal, deps: SessionDeps): AsyncGenerator<SessionRow> {
  const expiredSessions: SessionRow[] = []
  try {
    yield* listValid(principal, expiredSessions, deps)
  } finally {
    for (const { session_id } of expiredSessions.slice(0, pageSize)) {
      const thread = await findSessionThread(principal, session_id, deps)
      const isLocked = thread !== undefined && (await deps.transcript.isLocked(thread))
      if (!isLocked) await removeSession(principal, session_id, deps)
    }
  }
}

async function* listValid(
  principal: SessionPrincipal,
  expiredSessions: SessionRow[],
  deps: SessionDeps,
): AsyncGenerator<SessionRow> {
  for (let offset = 0; ; offset += pageSize) {
    const records = await deps.records.list(sessionKind, principal.owner, { limit: pageSize, offset })
    for (const row of records.map(readRow)) {
      if (!row || !isOwnRow(row, principal)) continue
      if (isExpired(row, deps)) expiredSessions.push(row)
      else yield row
    }
    if (records.length < pageSize) return
    // Other work runs between the pages, because an owner may have very many sessions.
    await new Promise(resolve => setImmediate(resolve))
  }
}

async function findStored(
  principal: SessionPrincipal,
  id: string,
  { records }: SessionDeps,
): Promise<StoredSession | undefined> {
  const record = await records.get(keyOfSession(principal, id))
  const row = record && readRow(record)
  return row && isOwnRow(row, principal) ? { ...record, row } : undefined
}

function isExpired({ expires_at }: SessionRow, { system }: SessionDeps): boolean {
  return expires_at !== null && Date.parse(expires_at) <= system.now()
}

function readRow({ value }: StoredRecord): SessionRow | undefined {
  return sessionRowSchema.safeParse(value).data
}

function isOwnRow(row: SessionRow, principal: SessionPrincipal): boolean {
  return row.workspace_type === (principal.workspace_type ?? '') && row.workspace_id === (principal.workspace_id ?? '')
}
