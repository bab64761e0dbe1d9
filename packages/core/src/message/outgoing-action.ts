import type { Json } from '../format/notations.ts'
import type { Reaction } from './agent-action.ts'
import type { AgentChain, NormalizedMessage } from './message.ts'
import type { NormalizedResponse } from './response.ts'

/** An agent's action with everything that addressing needs, before it is durable. */
export type OutgoingAction = PostAction | RevisionAction | ReactionAction

/** A post of its own. It answers its occasion, not a message. */
export interface PostAction {
  readonly act: 'post'
  readonly agent: string
  readonly response: NormalizedResponse
  /** Of the message that it was said at: it goes on with the post, where the wire carries it. */
  readonly chain?: AgentChain | undefined
}

/** Other words for an answer or a post, or none any more. */
export interface RevisionAction {
  readonly act: 'edit' | 'delete'
  readonly agent: string
  /** The id of this revision alone, so that a second delivery of it is recognized. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
  /** As it is from now on; of a `delete` as it was. */
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The message's. */
  readonly target: Json
  readonly rendering: Json | undefined
}

export interface ReactionAction {
  readonly act: Reaction
  readonly agent: string
  /** Of the message reacted to. */
  readonly target: Json
  /** ISO 8601 UTC. */
  readonly at: string
}
