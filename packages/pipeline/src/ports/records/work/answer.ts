// Describes the outcome of a turn as it is committed: the answer, and the actions beside it.

import type { Json, NormalizedResponse, TurnAttempt } from '@postern/message'
import type { Intake } from '../intake.ts'
import type { TurnNote } from '../note.ts'
import type { Blob, PlannedBroadcast, PlannedDelivery } from '../planned-delivery.ts'
import type { PlannedRequirement } from '../requirement-record.ts'

/** The destinations of a response: single deliveries, and broadcasts to all peers in a relation. */
export interface DeliveryPlan {
  readonly deliveries: readonly PlannedDelivery[]
  readonly broadcasts?: readonly PlannedBroadcast[] | undefined
}

export interface ChangedPersonState {
  readonly person: string
  readonly state: Json
  /** The state from which it was computed; absent if it replaces any state. */
  readonly replaces?: { readonly state: Json | undefined } | undefined
}

/** The outcome of a turn. `response` is absent if the agent chose not to answer. */
export interface Answer extends DeliveryPlan {
  readonly response?: NormalizedResponse | undefined
  /**
   * True if the response replaces an interim response of the same turn (`say`), under the same id. Without a response the interim response is
   * withdrawn.
   */
  readonly isRevision?: boolean | undefined
  /** The deliveries that withdraw the interim response if the turn ends without a response, regardless of the cause. */
  readonly withdrawal?: DeliveryPlan | undefined
  /** The data for rendering the response besides the message's own target. */
  readonly rendering?: Json | undefined
  /** Bytes that the response's parts refer to. */
  readonly blobs?: readonly Blob[] | undefined
  /** The requirements on the sender; their rows are written together with the answer. */
  readonly requirements?: readonly PlannedRequirement[] | undefined
  /** The agent's actions besides answering. */
  readonly acts?: readonly PlannedAction[] | undefined
  /** The notes of the turn that are not stored yet; the store writes them before the answer. */
  readonly notes?: readonly TurnNote[] | undefined
  /** The number of own notes (`note 1`, …) of a retried turn; notes of an earlier attempt with higher numbers are deleted. */
  readonly noteCount?: number | undefined
  /** The ids of the answer on the wire; replies that name them join this thread. */
  readonly aliases?: readonly string[]
  /** True if everybody may read the response, so that it counts as a publication of the agent and is listed. */
  readonly isListed?: boolean | undefined
  /** The agent's new state for this thread; left out when unchanged. */
  readonly state?: Json | undefined
  /** The agent's state about the person, in all their conversations; left out when unchanged. */
  readonly personState?: ChangedPersonState | undefined
  /** True for a reply of the gateway itself: neither the reply nor its message becomes part of the history. */
  readonly isGatewayReply?: true | undefined
  /** The reason for the operator, if the agent failed. */
  readonly error?: string | undefined
  /** The record of the attempt, for the operator. */
  readonly attempt?: TurnAttempt | undefined
}

/** An action of an agent, ready to be stored. */
export type PlannedAction =
  | {
      readonly kind: 'post'
      /**
       * The message that the post or reply formally answers, because every answer needs one. It is stored, but no agent gets it.
       */
      readonly syntheticMessage: Intake
      readonly answer: Answer & { readonly response: NormalizedResponse }
    }
  | {
      /** A document of the protocol itself, without any content of the agent. */
      readonly kind: 'tell'
      readonly syntheticMessage: Intake
      readonly deliveryPlan: DeliveryPlan
    }
  | {
      readonly kind: 'edit'
      readonly response: NormalizedResponse
      readonly blobs?: readonly Blob[] | undefined
      readonly deliveryPlan: DeliveryPlan
    }
  | {
      /** Deletes the content of the response; its unsent deliveries become dead. */
      readonly kind: 'delete'
      readonly response: string
      readonly deliveryPlan: DeliveryPlan
    }
  | {
      readonly kind: 'react'
      /** The number of the message reacted to. */
      readonly message: number
      readonly deliveryPlan: DeliveryPlan
    }
