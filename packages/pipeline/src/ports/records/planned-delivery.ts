// Describes deliveries and broadcasts that are not yet stored, and the files with them.
import type { Json } from '@postern/message'

/** Bytes that are stored once under their SHA-256 (lower-case hex). */
export interface Blob {
  readonly digest: string
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
}

/** A message that goes out over a channel. `target`, the data for rendering and delivery, is opaque to the rest of the program. */
export interface PlannedDelivery {
  /** The destination that the operator sees: an inbox address, a mailbox, a task id. */
  readonly to: string
  readonly target: Json
  /** The receiving principal, if there is one. A peer that blocks the agent or has been deleted gets nothing more. */
  readonly peer?: string | undefined
  /** True if the peer fetches the answer itself (an A2A call), so that the delivery counts as sent once it is committed. */
  readonly isPulled?: boolean | undefined
}

/** One document for all peers in a relation to an agent; it is expanded into deliveries page by page. */
export interface PlannedBroadcast {
  readonly relation: RelationKind
  /** The common part of all its deliveries, which only the channel reads. */
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

/** A stored file of a message, with the URL from which it was fetched. */
export interface LinkedFile extends Blob {
  readonly url: string
}

/** Fetches the bytes at a URL if such files are stored; otherwise returns undefined. @throws Unavailable, Undeliverable */
export type FetchFile = (url: string, signal: AbortSignal) => Promise<Pick<Blob, 'bytes' | 'mime'> | undefined>
