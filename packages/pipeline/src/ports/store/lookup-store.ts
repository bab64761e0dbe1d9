// Declares the queries for stored messages, answers and conversations.
import type { ChannelName, Json, NormalizedMessage, NormalizedResponse } from '@postern/message'
import type { NotesRequest, StoredNote } from '../records/note.ts'
import type { PrivateScope } from '../records/people/own-threads.ts'
import type { Blob } from '../records/planned-delivery.ts'
import type { Entry, HistoryRequest } from '../records/transcript.ts'

/** A response of ours, with the message that it answered. */
export interface ResponseRecord {
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The target of the message. */
  readonly target: Json
  readonly rendering: Json | undefined
  readonly agent: string
  readonly via: ChannelName
  /** The time of its last edit, ISO 8601 UTC. */
  readonly editedAt?: string | undefined
  /** The time of its withdrawal, ISO 8601 UTC. Its parts are deleted then. */
  readonly retractedAt?: string | undefined
}

export interface MessageTarget {
  readonly message: number
  readonly via: ChannelName
  readonly target: Json
}

/** A message of another author, with the content of its latest edit. */
export interface MessageView {
  readonly message: NormalizedMessage
  readonly target: Json
  /** The id of the agent's response to it, if everybody may read that response. */
  readonly response?: string | undefined
}

/** The position of a response in its conversation. */
export interface ResponseContext {
  /** The answered message; absent for a post of the agent, and if the author of the message is unknown or has withdrawn it. */
  readonly answered?: MessageView | undefined
  /** The replies to it, oldest first. */
  readonly replies: readonly MessageView[]
}

export interface LookupStore {
  /**
   * Reads the entries of a thread. If an answer in a public thread is for some readers only (`visibility`), the entry shows that there is an
   * answer, but not its content.
   */
  readHistory(request: HistoryRequest): Promise<readonly Entry[]>
  /** Reads the notes of the turns of a thread, oldest first. In a public thread it leaves out turns whose answer was for some readers only. */
  readNotes(request: NotesRequest): Promise<readonly StoredNote[]>
  readState(agent: string, thread: number): Promise<Json | undefined>
  findBlob(digest: string): Promise<Blob | undefined>
  /** Returns the stored key of this name, and creates and stores it if it is missing. It is for published keys; `openSecret` manages all other keys, and rotates them. */
  readOrCreateSecret(name: string, create: () => Promise<string>): Promise<string>
  /** Returns true if a secret of this name is stored. It creates none. */
  hasSecret(name: string): Promise<boolean>
  /** Finds a response of ours by its id, with the message that it answered (for an object route or a task). */
  findResponse(id: string): Promise<ResponseRecord | undefined>
  /**
   * Reads the messages before and after a response. A reply names one of `names` in `in_reply_to`; only the next 500 messages of the thread are
   * searched. It leaves out replies that their authors withdrew or that the agent was not given.
   */
  readResponseContext(
    id: string,
    filter: { readonly names: readonly string[]; readonly limit: number },
  ): Promise<ResponseContext>
  /** Finds the response to a message, which is an interim one while its turn is open. Messages that were answered together have the same one. */
  findAnswer(message: number): Promise<ResponseRecord | undefined>
  /** Finds a message to an agent by one of its ids; the newest if there are several. */
  findMessageTo(agent: string, id: string): Promise<MessageTarget | undefined>
  /** Finds a conversation of an agent by its `thread_id`. */
  findConversation(agent: string, thread: string): Promise<AgentConversation | undefined>
  /** Finds the time at which a person last wrote to an agent in this scope, ISO 8601 UTC. It ignores messages with `impersonalFlags`. */
  findLastMessageTime(scope: PrivateScope & { readonly agent: string }): Promise<string | undefined>
  /** Lists the responses that an agent sent by a channel, newest first; with `isListed` only those that everybody may read. */
  listResponses(filter: {
    readonly agent: string
    readonly via: ChannelName
    readonly isListed?: true
    readonly limit: number
    readonly after?: number
  }): Promise<readonly (ResponseRecord & { readonly position: number })[]>
  /** Counts the responses of an agent, by a channel, that everybody may read. */
  countListed(filter: { readonly agent: string; readonly via: ChannelName }): Promise<number>
}

/** A conversation that an agent may continue. */
export interface AgentConversation {
  /** The last message in it that has or had a turn. */
  readonly message: number
  /** The principal who wrote that message, if its channel has principals. */
  readonly author?: string | undefined
  readonly scope: string
  /** The `thread_source` with which it began. */
  readonly key: string
}
