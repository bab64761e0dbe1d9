import type { Json } from '../../format/json.ts'
import type { RelationKind } from './relation-kind.ts'

/** Bytes kept once by their SHA-256 (lower-case hex). */
export interface Blob {
  readonly digest: string
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
}

/** Something that leaves by a channel. `target` is the channel's own business: what it needs to render and deliver. */
export interface PlannedDelivery {
  /** Shown to the operator: an inbox address, a mailbox, a task id. */
  readonly to: string
  readonly target: Json
  /** Whom it is meant for, by principal, where that is one: who has blocked the agent or is gone gets nothing more. */
  readonly peer?: string | undefined
  /** True when the peer fetches the answer itself (an A2A call): committed means sent. */
  readonly pulled?: boolean | undefined
}

/** One document for all who stand in a relation to an agent: spread out into deliveries by and by. */
export interface PlannedBroadcast {
  readonly relation: RelationKind
  /** What all its deliveries have in common; the channel's own business. */
  readonly target: Json
}
