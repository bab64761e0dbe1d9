import type { ProfileField } from '../../message/address/access.ts'
import type { SenderIdentity } from '../../message/address/address.ts'
import type { AgentPost, Reaction } from '../../message/agent-action.ts'
import type { NormalizedMessage } from '../../message/message.ts'
import type { ArtifactPart, FilePart, Part } from '../../message/part.ts'
import type { NormalizedResponse, PartialResponse } from '../../message/response.ts'
import type { Log } from '../platform/platform.ts'
import type { AgentNote } from '../records/note.ts'
import type { AgentPerson } from '../records/people.ts'
import type { AgentAskOptions, AgentCallAnswer } from './agent-call.ts'
import type { AgentRequirements } from './agent-requirements.ts'
import type { AgentState } from './agent-state.ts'
import type { HistoryView } from './history-policy.ts'

/** The public facts about an agent. */
export interface AgentProfile {
  /** The local half of its address; lower case. */
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly version: string
  readonly iconUrl?: string | undefined
  /** Media type of what is there, when it is known. */
  readonly iconType?: string | undefined
  /** Shown beside the description. */
  readonly fields?: readonly ProfileField[] | undefined
  /** Whether directories may list it; default: no. */
  readonly isDiscoverable?: boolean | undefined
  /** Whether what it says in public may be searched; default: no. */
  readonly isIndexable?: boolean | undefined
  /** Its other accounts: IRIs of their actors. */
  readonly alsoKnownAs?: readonly string[] | undefined
}

export interface AttachmentBytes {
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
  readonly name?: string | undefined
}

export type PostOptions = Pick<AgentPost, 'visibility' | 'mentions' | 'subject' | 'via'>

/**
 * An action of an agent besides answering. It becomes durable together with the answer, or not at all. Actions that no
 * channel supports are left out and logged.
 */
export interface AgentActions {
  /** A post of its own, to those who follow it. Gives the post's id. */
  post(content: string | readonly Part[], options?: PostOptions): string
  /** Replaces what it said earlier: a response of this agent or a post, by id. */
  edit(response: string, content: string | readonly Part[]): void
  /** Withdraws an earlier response or post. */
  delete(response: string): void
  /** `message`: id of a message this agent got; default: the one it is answering. */
  react(reaction: Reaction, message?: string): void
}

export interface AgentContext extends AgentActions, AgentRequirements {
  /** Aborts at the deadline, on cancel and on shutdown. */
  readonly signal: AbortSignal
  /** The trimmed history and where its stable head ends; `message.history` holds the same turns. */
  history(): HistoryView
  /** The bytes of a file or artifact, checked against their digest. */
  attachment(part: FilePart | ArtifactPart): Promise<AttachmentBytes>
  readonly state: AgentState
  /** The store's number of the conversation; absent where there is no store. */
  readonly thread?: number | undefined
  /** The store's number of the message; absent where there is no store. */
  readonly messageNumber?: number | undefined
  /**
   * Asks another agent, `@name@domain` or the URL of its A2A card, and waits for what it says; one hop further along the chain of
   * the message that is being answered. A string is one markdown text.
   * The transcript has it before it goes out, and what comes of it. @throws Rejection, Unavailable, Undeliverable, as `CallAgent`
   */
  call(address: string, content: string | readonly Part[], options?: AgentAskOptions): Promise<AgentCallAnswer>
  /**
   * Writes down what the agent does or thinks: a message of a message store, for the transcript. Kept while the turn goes on; a turn
   * that is tried again notes it anew. @throws Rejection malformed, naming the member; too_large
   */
  note(note: AgentNote): void
  /**
   * Names the current stage (`intent`), until the agent names another one or its turn ends: a step of a chat's run,
   * stored in the transcript with its duration. A streaming agent may give it as `stage` of a piece.
   * @throws Rejection malformed, too_large
   */
  stage(name: string): void
  /** Who the sender is, as far as it is proven. Ask here before an action that not everyone may cause. */
  readonly identity: SenderIdentity
  /**
   * The sender, where they have linked further addresses and the configuration shares their conversations from there.
   */
  readonly person?: AgentPerson | undefined
  readonly log: Log
  /** Follows this message through every log line. */
  readonly correlationId: string
  /** `traceparent` of the turn (W3C Trace Context), for calls that the agent makes; absent where nothing is traced. */
  readonly traceparent?: string | undefined
  /** The id this turn's answer has, or will have. */
  readonly responseId: string
  /** The channel's findings about the message, such as `hidden_text`. */
  readonly flags?: readonly string[] | undefined
}

/** For agents that also speak unasked. Their actions are durable when the promise resolves. */
export interface AgentPublisher {
  post(content: string | readonly Part[], options?: PostOptions): Promise<string>
  edit(response: string, content: string | readonly Part[]): Promise<void>
  delete(response: string): Promise<void>
  react(reaction: Reaction, message: string): Promise<void>
  /** Aborts on shutdown. */
  readonly signal: AbortSignal
  readonly log: Log
}

export type AgentChunk = string | Part | PartialResponse
export type AgentAnswer = string | PartialResponse | NormalizedResponse | undefined

/**
 * The agent's handler. `undefined` gives no answer; a string is one markdown text; an iterable streams. Pieces with
 * status `working` are shown at once and are no part of the answer.
 */
export interface Agent {
  /** Called once when the gateway begins to work. */
  start?(publisher: AgentPublisher): void | Promise<void>

  handle(
    message: NormalizedMessage,
    context: AgentContext,
  ): AgentAnswer | AsyncIterable<AgentChunk> | Promise<AgentAnswer | AsyncIterable<AgentChunk>>
}

/** The agents of this gateway. */
export interface AgentDirectory {
  /** Host of every `@agent@domain`. */
  readonly domain: string
  /** https origin, without a slash at the end. */
  readonly origin: string
  readonly defaultAgent: string | undefined
  find(name: string): AgentProfile | undefined
  list(): readonly AgentProfile[]
}
