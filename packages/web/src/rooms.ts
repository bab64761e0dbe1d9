import type { Channel, ChannelName, House } from '@postern/core'
import type { RecordShelf, TranscriptStore } from '@postern/transcript'
import type { AttachmentShelf } from './attachments/shelf.ts'
import type { WebConfig } from './config.ts'
import type { ReadOwner } from './owner.ts'

/** A conversation of the desk as part of a thread of the transcript. */
export interface BoundTranscript extends TranscriptStore {
  /** `reader`: only the words of these principals, and the answers to them. */
  bindDesk(
    thread: { readonly owner: string; readonly thread_id: string },
    conversation:
      | { readonly agent: string; readonly via: string; readonly scope: string; readonly key: string }
      | number,
    reader?: readonly string[],
  ): Promise<boolean>
}

/** Of a thread this much is read at once, bytes: what one has stored in hours must not be in memory at a time. */
export const maxRead = 16 * 1024 * 1024

/** What the routes of the web work with. */
export interface WebRooms {
  readonly config: WebConfig
  readonly house: House
  readonly readOwner: ReadOwner
  readonly shelf: AttachmentShelf
  readonly transcript: BoundTranscript
  readonly records: RecordShelf
  /** The other channels, by which conversations go on. */
  findChannel(name: ChannelName): Channel | undefined
  /** Whether people may link their addresses for this agent. */
  isLinking(agent: string): boolean
  /** The request with its body read, at most so many bytes. @throws Rejection too_large, malformed */
  openBody(request: Request, maxBytes: number): Promise<Request>
}
