// Describes an answered turn, the deliveries that its answer causes, and a rendered delivery.

import type { ActRefusal, DeliveryReply, Json, NormalizedResponse } from '@postern/message'
import type { PlannedBroadcast, PlannedDelivery } from '../records/planned-delivery.ts'
import type { Turn } from '../records/work/turn.ts'

/** A turn and the response of its agent, before the response is durable. */
export interface AnsweredTurn {
  readonly turn: Turn
  readonly response: NormalizedResponse
}

/** The destinations of an answer, and its ids on the wire. */
export interface Addressing {
  readonly deliveries: readonly PlannedDelivery[]
  readonly aliases: readonly string[]
  /**
   * The scope of the readers who may join the thread that an agent's own post begins. By default, everybody may join if the post is listed, and nobody
   * otherwise.
   */
  readonly scope?: string | undefined
  /** True if everybody may read the answer. */
  readonly isListed?: boolean | undefined
  /** The data for rendering besides the message's own target. It is stored with the answer, and only the channel reads it. */
  readonly rendering?: Json | undefined
  /** The broadcasts to all peers in a relation to the agent. */
  readonly broadcasts?: readonly PlannedBroadcast[] | undefined
  /** The reason why some recipients of an action do not get it. */
  readonly refusal?: ActRefusal | undefined
}

/** A rendered delivery that is ready for transmission. `wire` is a copy of the document for the operator, without signatures or secrets. */
export interface PreparedDelivery {
  readonly wire: Json
  /** Transmits the delivery. @throws Unavailable, Undeliverable */
  transmit(): Promise<TransmitResult>
}

/** The confirmation that the peer has accepted a delivery. */
export interface TransmitResult extends DeliveryReply {
  /** A note that the operator sees beside the delivery. */
  readonly note?: string | undefined
}
