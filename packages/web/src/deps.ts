import type { ChannelContext } from '@postern/core'
import type { ScopeTable } from '@postern/http/tokens'
import type { ResponseSemaphore } from '@postern/limits'
import type { OwnerQuota, RecordQuota, RecordStore, TranscriptStore } from '@postern/transcript'
import type { WebAttachments } from './attachments/attachment-store.ts'
import type { WebConfig } from './config.ts'
import type { VerifyOwner } from './identity/speaker.ts'

interface StoreConversation {
  readonly agent: string
  readonly via: string
  readonly scope: string
  readonly key: string
}

/** A conversation of the store as part of a thread of the transcript. */
export interface BoundTranscript extends TranscriptStore {
  hasConversation(conversation: StoreConversation): Promise<boolean>
  /** `reader`: only messages of these principals and the answers to them. */
  bindStore(
    thread: { readonly owner: string; readonly thread_id: string },
    conversation: StoreConversation | number,
    reader?: readonly string[],
  ): Promise<boolean>
  /** Runs are entries, too. */
  readUsage(owner: string): Promise<OwnerQuota>
  /** Checks that the owner may add this much. @throws Rejection too_large */
  checkQuota(owner: string, by: OwnerQuota, most: OwnerQuota): Promise<void>
}

/** How much the transcripts of agents may hold for one person. */
export interface RecordDeps {
  readRoom(owner: string): Promise<RecordQuota>
}

/** Bytes of a thread that one read loads at most, so that a long conversation never fills the memory. */
export const maxRead = 16 * 1024 * 1024

/** What the routes of the web work with. */
export interface WebDeps {
  readonly config: WebConfig
  readonly gateway: ChannelContext
  readonly verifyOwner: VerifyOwner
  /** Other names for the scopes of A2A. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** Comes before everything that may load many bytes. */
  readonly responseSemaphore: ResponseSemaphore
  readonly attachments: WebAttachments
  readonly transcript: BoundTranscript
  /** The same transcript, which refuses writes beyond `quota`. */
  readonly bounded: BoundTranscript
  readonly quota: OwnerQuota
  /** Forgets one chat. False when there is none. */
  forgetChat(chat: { readonly owner: string; readonly agent: string; readonly key: string }): Promise<boolean>
  readonly records: RecordStore & RecordDeps
  /** Whether people may link their addresses for this agent. */
  isLinking(agent: string): boolean
  /** The request with its body read, at most so many bytes. @throws Rejection too_large, malformed */
  openBody(request: Request, maxBytes: number): Promise<Request>
}
