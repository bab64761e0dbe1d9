// Describes an agent's action with the data that a channel needs to address it.
import type { Json } from '../../format/json.ts'
import type { AgentChain, NormalizedMessage } from '../message.ts'
import type { NormalizedResponse } from '../response.ts'
import type { Reaction } from './agent-action.ts'

/** An agent's action with all data for addressing, before it is durable. */
export type OutgoingAction = PostAction | RevisionAction | ReactionAction

/** A post of the agent. Its response formally answers a synthetic message, because nobody asked for it. */
export interface PostAction {
  readonly act: 'post'
  readonly agent: string
  readonly response: NormalizedResponse
  /** The chain of the message that is being answered. It continues with the post on channels that can carry it. */
  readonly chain?: AgentChain | undefined
}

/** An edit or a deletion of an answer or post. */
export interface RevisionAction {
  readonly act: 'edit' | 'delete'
  readonly agent: string
  /** The id of this revision, by which a second delivery of it is recognized. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
  /** The response after the action; for a `delete`, the response before it. */
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The target of the message. */
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
