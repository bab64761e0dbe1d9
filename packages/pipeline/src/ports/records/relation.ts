// Describes the relations between agents and peers, and the ways in which messages change them.
import type { ChannelName, Json, MessageKind } from '@postern/message'
import type { PlannedDelivery, RelationKind } from './planned-delivery.ts'

export interface RelationKey {
  readonly via: ChannelName
  readonly agent: string
  readonly relation: RelationKind
  /** The peer's principal: an actor IRI. */
  readonly peer: string
}

export interface Relation extends RelationKey {
  /** The data that the channel needs to reach the peer; only the channel reads it. */
  readonly target: Json
  /** Its number in the list. */
  readonly number: number
  /** The time of its beginning, in ms. */
  readonly since: number
}

/**
 * A change of relations that a message makes for its own agent, in the transaction that admits it; a duplicate
 * changes nothing. A second `relate` renews the target; `unrelate` without a relation does nothing. `blocked_by` also
 * ends the agent's open turns for that peer and its open deliveries to them. `reopen` permits a relation that
 * was undone to be made again under its old id, because some servers reuse ids. `bounced` reports that a sent delivery of this agent did not arrive.
 */
export type RelationEffect =
  | { readonly kind: 'relate'; readonly relation: RelationKind; readonly peer: string; readonly target: Json }
  | { readonly kind: 'unrelate'; readonly relation: RelationKind; readonly peer: string }
  | ({ readonly kind: 'reopen' } & Authorship)
  | Bounce

/**
 * The later failure of an accepted delivery: it becomes dead, or is retried at `retry.at` (ms) if it had fewer attempts than `retry.attempts`. With
 * `isDelivered` it stays sent, because it arrived and a complaint followed.
 */
export interface Bounce {
  readonly kind: 'bounced'
  /** The id of the delivery. A delivery that is not sent, or that belongs to another agent or channel, stays unchanged. */
  readonly delivery: string
  /** The reason, for the operator. */
  readonly error: string
  readonly retry?: { readonly at: number; readonly attempts: number } | undefined
  readonly isDelivered?: true | undefined
  /** True if the address that it went to is `suppressed` from now on, for this agent. */
  readonly suppresses?: true | undefined
}

/** The author and the object of a message. They identify the message when its author edits or withdraws it. */
export interface Authorship {
  /** The proven principal. */
  readonly author: string
  /** The author's own id of the object: its IRI. An edit has the same id as the object that it edits. */
  readonly object: string
}

/**
 * A withdrawal by an author, from all agents. `forget`: every message of this authorship, even one that arrives later (for 48 hours).
 * `forget_peer`: everything of this author and every relation to them; waiting deliveries to them die. `end_relations`: the account is unknown
 * there now. It neither follows nor is followed, but its messages and blocks stay.
 */
export type Withdrawal =
  | ({ readonly kind: 'forget' } & Authorship)
  | { readonly kind: 'forget_peer'; readonly peer: string }
  | { readonly kind: 'end_relations'; readonly peer: string }

/** The time for which a withdrawal waits for the message that it has overtaken, ms. */
export const withdrawalMemoryMs = 48 * 3_600_000

/** A stored message that has not been withdrawn, with the facts that a later edit or withdrawal by its author needs. */
export interface AuthoredMessage extends Authorship {
  readonly agent: string
  readonly message: number
  readonly id: string
  readonly kind: MessageKind
  readonly thread_source: string
  readonly scope: string
  readonly target: Json
  /** True if the agent never got it. */
  readonly isKept: boolean
}

export interface RelationDecision {
  readonly effects: readonly RelationEffect[]
  readonly deliveries: readonly PlannedDelivery[]
}
