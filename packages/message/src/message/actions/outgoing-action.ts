// Describes an agent's own act on its way out, with the facts that its address needs.
import type { Json } from '../../format/json.ts'
import type { AgentChain, NormalizedMessage } from '../message.ts'
import type { NormalizedResponse } from '../response.ts'
import type { Reaction } from './agent-action.ts'

/** An agent's action with everything that addressing needs, before it is durable. */
export type OutgoingAction = PostAction | RevisionAction | ReactionAction

/** A post of its own. It answers its occasion, not a message. */
export interface PostAction {
  readonly act: 'post'
  readonly agent: string
  readonly response: NormalizedResponse
  /** The chain of the message that it was said at: it goes on with the post, where the wire carries it. */
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
  /** The response after the action; for a `delete`, the response before it. */
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The message's. */
  readonly target: Json
  readonly rendering: Json | undefined
}

export interface ReactionAction {
  readonly act: Reaction
  readonly agent: string
  /** The target of the message reacted to. */
  readonly target: Json
  /** ISO 8601 UTC. */
  readonly at: string
}
