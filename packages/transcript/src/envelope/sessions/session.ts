// Declares chat sessions, their owners and the store of sessions.
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
import { z } from 'zod'
import type { CodecFinding } from '../../codec/dialect.ts'
import { parseEntryTime } from '../../entry/entry.ts'
import { jsonMapSchema } from '../../json/schema.ts'
import type { ThreadKey, ThreadLock } from '../../store/transcript-store.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'

const sessionOwnerTypes = ['user', 'audience', 'runtime', 'token', 'system'] as const

/** The caller as proved by the credential, never as named in a request body. */
export interface SessionPrincipal {
  /** The owner of everything that this principal stores. */
  readonly owner: string
  readonly owner_type: (typeof sessionOwnerTypes)[number]
  readonly owner_key: string
  readonly workspace_type?: string | undefined
  readonly workspace_id?: string | undefined
}

/** The row of a session, without its messages. */
export const sessionRowSchema = z.object({
  session_id: z.string(),
  workspace_type: z.string(),
  workspace_id: z.string(),
  owner_type: z.enum(sessionOwnerTypes),
  owner_key: z.string(),
  agent_slug: z.string(),
  title: z.string(),
  metadata: jsonMapSchema,
  provider: z.string(),
  model: z.string(),
  provider_response_id: z.string().nullable(),
  context: z.string(),
  token_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  last_read_at: z.string().nullable(),
  expires_at: z.string().nullable(),
})

export type SessionRow = z.infer<typeof sessionRowSchema>
export type Session = SessionRow & { readonly messages: readonly AgentMessageEnvelope[] }

/** The members of a new session that the caller decides. */
export interface NewSession {
  readonly agent_slug?: string | undefined
  readonly context?: string | undefined
  readonly title?: string | undefined
  readonly metadata?: Record<string, Json> | undefined
  readonly token_id?: string | undefined
  readonly expires_at?: string | undefined
}

/**
 * Checks that the owner in a request is the one that its credential proves. A shared owner type may own nothing. @throws Rejection
 * forbidden
 */
export function checkSessionOwner(
  principal: SessionPrincipal,
  claimedOwner: { readonly owner_type?: string | undefined; readonly owner_key?: string | undefined } = {},
): void {
  const { owner_type = principal.owner_type, owner_key = principal.owner_key } = claimedOwner
  if (owner_type !== principal.owner_type || owner_key !== principal.owner_key) {
    throw new Rejection('forbidden', 'Cannot use session: conversation_session_owner_forbidden')
  }
  if (principal.owner_type === 'audience') {
    throw new Rejection('forbidden', 'Cannot use session: a shared audience owns no session')
  }
}

/** Builds the row of a new session. @throws Rejection malformed if its end is no time */
export function buildSessionRow(principal: SessionPrincipal, id: string, now: string, options: NewSession): SessionRow {
  return {
    session_id: id,
    workspace_type: principal.workspace_type ?? '',
    workspace_id: principal.workspace_id ?? '',
    owner_type: principal.owner_type,
    owner_key: principal.owner_key,
    agent_slug: options.agent_slug ?? '',
    title: options.title ?? '',
    metadata: options.metadata ?? {},
    provider: '',
    model: '',
    provider_response_id: null,
    context: options.context ?? 'chat',
    token_id: options.token_id ?? null,
    created_at: now,
    updated_at: now,
    last_read_at: null,
    expires_at: readEnd(options.expires_at),
  }
}

/** Reads the end of a session. An unreadable end is refused, because such a session would never expire. */
function readEnd(expires_at: string | undefined): string | null {
  if (expires_at === undefined) return null
  const end = parseEntryTime(expires_at)
  if (end === undefined) throw new Rejection('malformed', 'Cannot open session: expires_at is no time')
  return end
}

export interface SessionFilter {
  /** The number of sessions, 1 to 100; default 50. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  readonly agent_slug?: string | undefined
  readonly context?: string | undefined
  /** True if the sessions include their messages; default false, so that the lists of messages are empty. */
  readonly include_messages?: boolean | undefined
}

export interface PendingSearch {
  /** The longest age of the session, seconds; default 600. */
  readonly seconds?: number | undefined
  readonly context?: string | undefined
  readonly token_id?: string | undefined
}

interface SessionUpdate {
  /** The whole list of messages, not only the new ones. */
  readonly messages: readonly unknown[]
  readonly metadata?: Session['metadata'] | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly provider_response_id?: string | undefined
  /** The token of the lock under which the caller writes. */
  readonly token?: string | undefined
}

/** A session after an update, with findings about the given messages. */
interface UpdatedSession extends Session {
  readonly findings: readonly CodecFinding[]
}

/**
 * The sessions of agents, stored in the transcript. Each session is a thread with its messages as envelopes. The first argument is always the
 * caller, who cannot find sessions of others.
 */
export interface SessionStore {
  /** Creates a session. @throws Rejection forbidden for an owner that may own none */
  create(principal: SessionPrincipal, options?: NewSession): Promise<Session>
  /** Opens a pending session of the same context, or a new one, so that a repeated first message creates only one session. */
  open(principal: SessionPrincipal, options?: NewSession & Pick<PendingSearch, 'seconds'>): Promise<Session>
  get(principal: SessionPrincipal, id: string): Promise<Session | undefined>
  /** Updates a session; `undefined` if there is none. @throws Rejection malformed; Unavailable while another writer locks it */
  update(principal: SessionPrincipal, id: string, update: SessionUpdate): Promise<UpdatedSession | undefined>
  updateTitle(principal: SessionPrincipal, id: string, title: string): Promise<boolean>
  markRead(principal: SessionPrincipal, id: string): Promise<boolean>
  /** Removes a session. The removal of an unknown one succeeds. @throws Unavailable while another writer locks it */
  remove(principal: SessionPrincipal, id: string): Promise<void>
  /** Lists sessions, newest first. @throws Rejection malformed for a limit out of range */
  list(principal: SessionPrincipal, filter?: SessionFilter): Promise<readonly Session[]>
  findPending(principal: SessionPrincipal, search?: PendingSearch): Promise<Session | undefined>
  /** Acquires the lock, by default for 300 s; `undefined` while another writer has it. */
  acquireLock(principal: SessionPrincipal, id: string, ttlSeconds?: number): Promise<ThreadLock | undefined>
  releaseLock(principal: SessionPrincipal, id: string, token: string): Promise<boolean>
  /** Finds the thread of a session. */
  findThread(principal: SessionPrincipal, id: string): Promise<ThreadKey | undefined>
}
