import type { ChannelContext } from '@postern/core'
import type { ResponseSemaphore } from '@postern/http'
import type { ScopeTable } from '@postern/http/tokens'
import type { OwnerQuota, RecordQuota, RecordStore, TranscriptStore } from '@postern/transcript'
import type { WebAttachments } from './attachments/attachment-store.ts'
import type { WebConfig } from './config.ts'
import type { VerifyOwner } from './speaker.ts'

interface StoreConversation {
  readonly agent: string
  readonly via: string
  readonly scope: string
  readonly key: string
}

/** A conversation of the store as part of a thread of the transcript. */
export interface BoundTranscript extends TranscriptStore {
  hasConversation(conversation: StoreConversation): Promise<boolean>
  /** `reader`: only the words of these principals, and the answers to them. */
  bindStore(
    thread: { readonly owner: string; readonly thread_id: string },
    conversation: StoreConversation | number,
    reader?: readonly string[],
  ): Promise<boolean>
  /** Runs are entries, too. */
  readUsage(owner: string): Promise<OwnerQuota>
  /** Whether there is room for so much more. @throws Rejection too_large */
  checkQuota(owner: string, by: OwnerQuota, most: OwnerQuota): Promise<void>
}

/** How much agents keep of somebody's chats. */
export interface RecordDeps {
  readRoom(owner: string): Promise<RecordQuota>
}

/** Of a thread this much is read at once, bytes: what one has stored in hours must not be in memory at a time. */
export const maxRead = 16 * 1024 * 1024

/** What the routes of the web work with. */
export interface WebDeps {
  readonly config: WebConfig
  readonly gateway: ChannelContext
  readonly verifyOwner: VerifyOwner
  /** Other names for the scopes of A2A. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** Before whatever may be large. */
  readonly responseSemaphore: ResponseSemaphore
  readonly attachments: WebAttachments
  readonly transcript: BoundTranscript
  /** The same, for what people write: nobody has more than `room`. */
  readonly bounded: BoundTranscript
  readonly quota: OwnerQuota
  /** All of one chat. False when there is none. */
  forgetChat(chat: { readonly owner: string; readonly agent: string; readonly key: string }): Promise<boolean>
  readonly records: RecordStore & RecordDeps
  /** Whether people may link their addresses for this agent. */
  isLinking(agent: string): boolean
  /** The request with its body read, at most so many bytes. @throws Rejection too_large, malformed */
  openBody(request: Request, maxBytes: number): Promise<Request>
}
