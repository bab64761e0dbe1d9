import type { Json } from '../../format/notations.ts'

/** Bytes kept once by their SHA-256 (lower-case hex). */
export interface Blob {
  readonly digest: string
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
}

/** A message that leaves by a channel. `target` is opaque to others: the data for rendering and delivery. */
export interface PlannedDelivery {
  /** Shown to the operator: an inbox address, a mailbox, a task id. */
  readonly to: string
  readonly target: Json
  /** The principal it is meant for, if there is one: a peer that blocks the agent or is gone gets nothing more. */
  readonly peer?: string | undefined
  /** True when the peer fetches the answer itself (an A2A call): committed means sent. */
  readonly pulled?: boolean | undefined
}

/** One document for all peers in a relation to an agent; it is expanded into deliveries page by page. */
export interface PlannedBroadcast {
  readonly relation: RelationKind
  /** What all its deliveries have in common; the channel's own business. */
  readonly target: Json
}

/**
 * The relations of a peer to an agent. `follower`: gets its posts. `pending`: asks to follow and waits for the
 * operator. `following`: the agent follows. `blocked_by`: blocks the agent, so nothing is delivered there, and its
 * messages are kept from the agent. `suppressed`: mail there bounces or gets complaints, so the channel sends nothing
 * more. `correspondent`: has written with proof, so that look-alikes can be recognized.
 */
export const relationKinds = ['follower', 'pending', 'following', 'blocked_by', 'suppressed', 'correspondent'] as const

export type RelationKind = (typeof relationKinds)[number]

/** A file of a message that lay elsewhere. */
export interface KeptFile extends Blob {
  readonly url: string
}

/** The bytes behind an address, if they are such as are kept; undefined: they are left where they are. @throws Unavailable, Undeliverable */
export type FetchFile = (url: string, signal: AbortSignal) => Promise<Pick<Blob, 'bytes' | 'mime'> | undefined>
