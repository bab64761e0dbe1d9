// Declares the functions and facts that an agent has while it handles a message.

import type {
  ActRefusal,
  AgentPost,
  ArtifactPart,
  FilePart,
  GivenPart,
  Json,
  Log,
  Reaction,
  SenderIdentity,
} from '@postern/message'
import type { AgentNote } from '../records/note.ts'
import type { AgentPerson } from '../records/people/person.ts'
import type { AgentAskOptions, AgentCallAnswer } from './agent-call.ts'
import type { AgentRequirements } from './agent-requirements.ts'
import type { AgentState } from './agent-state.ts'
import type { HistoryView } from './history-policy.ts'

export interface AttachmentBytes {
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
  readonly name?: string | undefined
}

export type PostOptions = Pick<AgentPost, 'visibility' | 'mentions' | 'subject' | 'via'>

/**
 * The actions of an agent besides answering. Each becomes durable together with the answer, or not at all. If an action is
 * impossible, the agent gets a refusal, which the record of the turn also contains.
 */
export interface AgentActions {
  /** Publishes a post to the agent's followers. Returns the post's id, or a refusal. */
  post(content: string | readonly GivenPart[], options?: PostOptions): string | ActRefusal
  /**
   * Continues a conversation over its own channel without a message to answer: with a mail in its thread, a line of the chat, a post or a push.
   * `threadId` is its `thread_id`. Returns the reply's id, or a refusal.
   */
  reply(threadId: string, content: string | readonly GivenPart[]): Promise<string | ActRefusal>
  /** Replaces an earlier response or post of this agent, by id. */
  edit(responseId: string, content: string | readonly GivenPart[]): Promise<ActRefusal | undefined>
  /** Withdraws an earlier response or post. */
  delete(responseId: string): Promise<ActRefusal | undefined>
  /** Reacts to a message that this agent received, named by its id; default: the message that it is answering. */
  react(reaction: Reaction, messageId?: string): Promise<ActRefusal | undefined>
}

export interface AgentContext<State = Json> extends AgentActions, AgentRequirements {
  /** Aborts at the deadline, on cancel and on shutdown. */
  readonly signal: AbortSignal
  /** Returns the trimmed history and the end of its stable head; `message.history` has the same turns. */
  history(): HistoryView
  /** Returns the bytes of a file or artifact after checking them against their digest. @throws Undeliverable if they are unavailable */
  attachment(part: FilePart | ArtifactPart): Promise<AttachmentBytes>
  readonly state: AgentState<State>
  /** The store's number of the conversation; absent if there is no store. */
  readonly thread?: number | undefined
  /** The store's number of the message; absent if there is no store. */
  readonly messageNumber?: number | undefined
  /**
   * Asks another agent, `@name@domain` or the URL of its A2A card, and waits for its answer. The call is one hop further along the chain of
   * the message that is being answered. A string is sent as one Markdown part.
   * The transcript stores the call before it is sent, and its outcome afterwards. @throws Rejection, Unavailable, Undeliverable, as `CallAgent`
   */
  call(address: string, content: string | readonly GivenPart[], options?: AgentAskOptions): Promise<AgentCallAnswer>
  /**
   * Records an action or a thought of the agent in the transcript, as a message of a message store. It is stored during the turn; a retried turn
   * records it anew. @throws Rejection malformed, naming the member; too_large
   */
  note(note: AgentNote): void
  /**
   * Names the current stage (`intent`), until the agent names another one or its turn ends. A chat shows it as a step of the run, and the
   * transcript stores it with its duration. A streaming agent may give it as `stage` of a piece.
   * @throws Rejection malformed, too_large
   */
  stage(name: string): void
  /** The proven identities of the sender. An agent checks them before an action that only some people may cause. */
  readonly identity: SenderIdentity
  /** Returns true if everybody may read the conversation. */
  isPublic(): Promise<boolean>
  /** The sender, under a key that is the same for all their linked addresses; absent if nothing about them is proven. */
  readonly person?: AgentPerson | undefined
  readonly log: Log
  /** The id that every log line about this message carries. */
  readonly correlationId: string
  /** The `traceparent` of the turn (W3C Trace Context), for the calls of the agent; absent if nothing is traced. */
  readonly traceparent?: string | undefined
  /** The id that this turn's answer has or will have. */
  readonly responseId: string
  /** The channel's findings about the message, such as `hidden_text`. */
  readonly flags?: readonly string[] | undefined
}
