import type { Json } from '@postern/core'
import { Rejection } from '@postern/core'
import { z } from 'zod'
import type { CodecFinding } from '../../codec/dialect.ts'
import { parseEntryTime } from '../../entry/entry.ts'
import { jsonMapSchema } from '../../json/schema.ts'
import type { ThreadKey, ThreadLock } from '../../store/transcript-store.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'

const sessionOwnerTypes = ['user', 'audience', 'runtime', 'token', 'system'] as const

/** The caller as the credential proved it, never as a body names it. */
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

/** What the caller decides of a new session. */
export interface NewSession {
  readonly agent_slug?: string | undefined
  readonly context?: string | undefined
  readonly title?: string | undefined
  readonly metadata?: Record<string, Json> | undefined
  readonly token_id?: string | undefined
  readonly expires_at?: string | undefined
}

/** The owner in a request must be the one that its credential proves. A shared owner type may own nothing. @throws Rejection forbidden */
export function checkSessionOwner(
  principal: SessionPrincipal,
  named: { readonly owner_type?: string | undefined; readonly owner_key?: string | undefined } = {},
): void {
  const { owner_type = principal.owner_type, owner_key = principal.owner_key } = named
  if (owner_type !== principal.owner_type || owner_key !== principal.owner_key) {
    throw new Rejection('forbidden', 'Cannot use session: conversation_session_owner_forbidden')
  }
  if (principal.owner_type === 'audience') {
    throw new Rejection('forbidden', 'Cannot use session: a shared audience owns no session')
  }
}

/** @throws Rejection malformed for an end that is no time */
export function buildSessionRow(principal: SessionPrincipal, id: string, now: string, wanted: NewSession): SessionRow {
  return {
    session_id: id,
    workspace_type: principal.workspace_type ?? '',
    workspace_id: principal.workspace_id ?? '',
    owner_type: principal.owner_type,
    owner_key: principal.owner_key,
    agent_slug: wanted.agent_slug ?? '',
    title: wanted.title ?? '',
    metadata: wanted.metadata ?? {},
    provider: '',
    model: '',
    provider_response_id: null,
    context: wanted.context ?? 'chat',
    token_id: wanted.token_id ?? null,
    created_at: now,
    updated_at: now,
    last_read_at: null,
    expires_at: readEnd(wanted.expires_at),
  }
}

/** A session with an unreadable end would never expire. */
function readEnd(expires_at: string | undefined): string | null {
  if (expires_at === undefined) return null
  const end = parseEntryTime(expires_at)
  if (end === undefined) throw new Rejection('malformed', 'Cannot open session: expires_at is no time')
  return end
}

export interface SessionFilter {
  /** 1 to 100; default 50. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  readonly agent_slug?: string | undefined
  readonly context?: string | undefined
  /** Default false: the lists of messages are empty then. */
  readonly include_messages?: boolean | undefined
}

export interface PendingSearch {
  /** Default 600. */
  readonly seconds?: number | undefined
  readonly context?: string | undefined
  readonly token_id?: string | undefined
}

interface SessionUpdate {
  /** The whole list, not only the new messages. */
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
 * Sessions of agents over the transcript. Each session is a thread with its messages as envelopes. The first argument is always the caller;
 * sessions of others are not found.
 */
export interface SessionStore {
  /** @throws Rejection forbidden for an owner that may own none */
  create(principal: SessionPrincipal, wanted?: NewSession): Promise<Session>
  /** A pending session of the same context, or a new one, so that a repeated first message makes one session. */
  open(principal: SessionPrincipal, wanted?: NewSession & Pick<PendingSearch, 'seconds'>): Promise<Session>
  get(principal: SessionPrincipal, id: string): Promise<Session | undefined>
  /** `undefined` when there is none. @throws Rejection malformed; Unavailable while another writer holds it */
  update(principal: SessionPrincipal, id: string, update: SessionUpdate): Promise<UpdatedSession | undefined>
  updateTitle(principal: SessionPrincipal, id: string, title: string): Promise<boolean>
  markRead(principal: SessionPrincipal, id: string): Promise<boolean>
  /** Deleting an unknown session succeeds. @throws Unavailable while another writer holds it */
  remove(principal: SessionPrincipal, id: string): Promise<void>
  /** Newest first. @throws Rejection malformed for a limit out of bounds */
  list(principal: SessionPrincipal, filter?: SessionFilter): Promise<readonly Session[]>
  findPending(principal: SessionPrincipal, search?: PendingSearch): Promise<Session | undefined>
  /** `undefined` while another writer holds the lock. Default 300 s. */
  acquireLock(principal: SessionPrincipal, id: string, ttlSeconds?: number): Promise<ThreadLock | undefined>
  releaseLock(principal: SessionPrincipal, id: string, token: string): Promise<boolean>
  /** The thread behind a session. */
  findThread(principal: SessionPrincipal, id: string): Promise<ThreadKey | undefined>
}
