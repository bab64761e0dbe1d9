import type { Json } from '../format/notations.ts'
import type { ChannelName, NormalizedMessage } from '../message/message.ts'
import type { NormalizedResponse } from '../message/response.ts'
import type { KeptNote, NotesRequest } from './records/note.ts'
import type { Blob } from './records/planned-delivery.ts'
import type { Entry, HistoryRequest } from './records/transcript.ts'

/** A response of ours, and what it answered. */
export interface FoundResponse {
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The message's. */
  readonly target: Json
  readonly rendering: Json | undefined
  readonly agent: string
  readonly via: ChannelName
  /** ISO 8601 UTC: when it was last edited. */
  readonly editedAt?: string | undefined
  /** ISO 8601 UTC: it was taken back; its parts are gone. */
  readonly retractedAt?: string | undefined
}

export interface FoundMessage {
  readonly message: number
  readonly via: ChannelName
  readonly target: Json
}

/** What somebody else said, in the words of its latest edit. */
export interface CurrentMessage {
  readonly message: NormalizedMessage
  readonly target: Json
  /** Id of the agent's response to it, where everybody may read that. */
  readonly response?: string | undefined
}

/** The place of a response in its conversation. */
export interface ResponseContext {
  /** What it answers; absent where its author took it back, and for a post of the agent's own. */
  readonly answered?: CurrentMessage | undefined
  /** What answers it, oldest first. */
  readonly replies: readonly CurrentMessage[]
}

export interface LookupStore {
  /** Of an answer that an agent gave to some only (`visibility`), in a thread for everybody, that it was given and not its words. */
  readHistory(request: HistoryRequest): Promise<readonly Entry[]>
  /** What was noted in turns of a thread, oldest first; nothing of turns whose answer was for some only, in a thread for everybody. */
  readNotes(request: NotesRequest): Promise<readonly KeptNote[]>
  readState(agent: string, thread: number): Promise<Json | undefined>
  findBlob(digest: string): Promise<Blob | undefined>
  /** The stored secret of this name, made and made durable first if there is none. */
  secret(name: string, make: () => Promise<string>): Promise<string>
  /** Whether a secret of this name is stored; none is made. */
  hasSecret(name: string): Promise<boolean>
  /** A response of ours by its id, with what it answered (an object route, a task). */
  findResponse(id: string): Promise<FoundResponse | undefined>
  /**
   * What stands before and behind a response. A reply names one of `names` in `in_reply_to`; it is sought among the 500 messages that follow in
   * the thread. No reply is listed that its author took back, or that was kept from the agent.
   */
  readResponseContext(
    id: string,
    filter: { readonly names: readonly string[]; readonly limit: number },
  ): Promise<ResponseContext>
  /** What a turn has said meanwhile, when it is taken up once more. */
  findAnswer(message: number): Promise<FoundResponse | undefined>
  /** A message to an agent, by one of the ids it is known by; the newest of several. */
  findMessageTo(agent: string, id: string): Promise<FoundMessage | undefined>
  /** Responses of an agent that left by a channel, newest first; with `isListed` only those everybody may read. */
  listResponses(filter: {
    readonly agent: string
    readonly via: ChannelName
    readonly isListed?: true
    readonly limit: number
    readonly after?: number
  }): Promise<readonly (FoundResponse & { readonly place: number })[]>
  /** How many responses of an agent, by a channel, everybody may read. */
  countListed(filter: { readonly agent: string; readonly via: ChannelName }): Promise<number>
}
