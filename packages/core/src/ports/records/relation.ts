import type { Json } from '../../format/notations.ts'
import type { ChannelName, MessageKind } from '../../message/message.ts'
import type { PlannedDelivery, RelationKind } from './planned-delivery.ts'

export interface RelationKey {
  readonly via: ChannelName
  readonly agent: string
  readonly relation: RelationKind
  /** The peer's principal: an actor IRI. */
  readonly peer: string
}

export interface Relation extends RelationKey {
  /** What the channel needs to reach the peer; its own business. */
  readonly target: Json
  /** Its place in the list. */
  readonly place: number
  /** Since when, ms. */
  readonly since: number
}

/**
 * Changes that a message makes besides itself, for its own agent, in the transaction that admits it; a duplicate
 * changes nothing. A second `relate` renews the target; `unrelate` without a relation does nothing. `blocked_by` also
 * ends the agent's open turns for that peer and its open deliveries to them. `reopen`: an undone relation may be made
 * again under its old id, by servers that reuse the id. `bounced`: a sent delivery of this agent did not arrive.
 */
export type RelationEffect =
  | { readonly kind: 'relate'; readonly relation: RelationKind; readonly peer: string; readonly target: Json }
  | { readonly kind: 'unrelate'; readonly relation: RelationKind; readonly peer: string }
  | ({ readonly kind: 'reopen' } & Authorship)
  | Bounce

/**
 * What became of a delivery that was taken: it is dead, or tried again at `retry.at` (ms) while it had fewer tries than
 * `retry.attempts`. With `isDelivered` it stays sent: it arrived, and was complained of.
 */
export interface Bounce {
  readonly kind: 'bounced'
  /** Its id. One that is not sent, or of another agent or channel, stays as it is. */
  readonly delivery: string
  /** For the operator. */
  readonly error: string
  readonly retry?: { readonly at: number; readonly attempts: number } | undefined
  readonly isDelivered?: true | undefined
  /** Where it went to is `suppressed` from now on, for this agent. */
  readonly suppresses?: true | undefined
}

/** Whose words a message is, and of what: by these two it is found again when its author changes it or takes it back. */
export interface Authorship {
  /** The proven principal. */
  readonly author: string
  /** What is said, edited or done, by the author's own id: the object's IRI. An edit has the same as what it edits. */
  readonly object: string
}

/**
 * What an author withdraws, from all agents. `forget`: every message of this authorship, even one that arrives later
 * (for 48 hours). `forget_peer`: everything of this author and every relation to them; waiting deliveries to them die.
 * `end_relations`: the account is unknown there now. It neither follows nor is followed, but its words and blocks stay.
 */
export type Withdrawal =
  | ({ readonly kind: 'forget' } & Authorship)
  | { readonly kind: 'forget_peer'; readonly peer: string }
  | { readonly kind: 'end_relations'; readonly peer: string }

/** How long a withdrawal waits for the message that it has overtaken, ms. */
export const withdrawalMemoryMs = 48 * 3_600_000

/** A stored message, not taken back, as its author may speak of it again. */
export interface KnownMessage extends Authorship {
  readonly agent: string
  readonly message: number
  readonly id: string
  readonly kind: MessageKind
  readonly thread_id: string
  readonly scope: string
  readonly target: Json
  /** The agent was never given it. */
  readonly isKept: boolean
}

export interface Decision {
  readonly effects: readonly RelationEffect[]
  readonly deliveries: readonly PlannedDelivery[]
}
