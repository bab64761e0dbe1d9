import type { Json } from '../../format/json.ts'
import type { RelationKind } from './relation-kind.ts'

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
