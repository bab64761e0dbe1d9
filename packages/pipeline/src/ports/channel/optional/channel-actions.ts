// Declares the sending side of a channel besides answers: posts, direct messages, notices, broadcasts and calls.
import type { ActRefusal, Json, OutgoingAction, PostAction } from '@postern/message'
import type { CallAgent } from '../../agent/agent-call.ts'
import type { PlannedBroadcast, PlannedDelivery } from '../../records/planned-delivery.ts'
import type { Relation } from '../../records/relation.ts'
import type { Addressing, AnsweredTurn } from '../addressing.ts'

/** Everything that an agent can send over a channel besides its answers. All members are optional. Functions that return no promise have no side effects. */
export interface ChannelActions {
  /** Returns the deliveries that an action causes; undefined if this channel cannot do it. A channel without this function can do no action. */
  address?(action: OutgoingAction): Addressing | ActRefusal | undefined
  /** Returns the deliveries of a broadcast to these peers; one delivery may stand for several of them. */
  expand?(broadcast: PlannedBroadcast, relations: readonly Relation[]): readonly PlannedDelivery[]
  /**
   * Addresses an agent's own message to the people it mentions, on a channel that has no posts. Refuses if it may be sent to none of them.
   * `correspondents` are the addresses that `findCorrespondents` returned; if absent, everybody counts as a correspondent, because nobody has checked yet.
   */
  addressDirectMessage?(post: PostAction, correspondents?: ReadonlySet<string>): Addressing | ActRefusal | undefined
  /**
   * Finds the mentioned people who may get messages because they have written before. Absent if an earlier message does not permit messages on this
   * channel. @throws Unavailable
   */
  findCorrespondents?(agent: string, mentions: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Addresses the gateway's own message to one address (`mentions`) that may never have written here. Without this function, `address` addresses it
   * like a post. Agents cannot send such messages.
   */
  addressNotice?(action: PostAction): Addressing | ActRefusal | undefined
  /**
   * Addresses a further message in the conversation whose last message is that of the answered turn. Without this function, the message is addressed
   * like an answer to that turn.
   * @throws Unavailable
   */
  addressReply?(answered: AnsweredTurn): Promise<Addressing | ActRefusal>
  /** Calls an agent elsewhere for one of ours. */
  readonly call?: CallAgent | undefined
  /** Announces to an agent's peers that the agent has left the configuration. Resolves once the announcement is durable. */
  announceRemoval?(name: string): Promise<void>
  /** Returns true if a delivery is part of the announcement that an agent was removed. */
  isRemovalNotice?(target: Json): boolean
}
