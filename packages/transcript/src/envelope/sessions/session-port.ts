import type { CodecFinding } from '../../codec/codec.ts'
import type { ThreadKey, ThreadLock } from '../../store/transcript-store.ts'
import type { NewSession, Session, SessionPrincipal } from './session.ts'

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
