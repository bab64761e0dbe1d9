// Defines the outcome of verifying an activity: a proven one, a deleted actor, or nothing.
import type { Json, Proof } from '@postern/message'
import type { Activity } from '../format/activity.ts'
import type { RemoteActor } from '../peers/actor-document.ts'

export declare const provenBrand: unique symbol

/** An activity that its actor has proven to be its own. Only `verifyDelivery` creates one. */
export interface ProvenActivity {
  readonly [provenBrand]: true
  readonly activity: Activity
  readonly actor: RemoteActor
  /** The id of the key that made the actor's HTTP signature. Absent if another server forwards the activity and the document proves itself. */
  readonly keyId: string | undefined
  /** The id of the key that made the proof of the document itself. Absent if there is no valid proof. */
  readonly objectKeyId: string | undefined
  readonly bytes: Uint8Array
  /** The request without its body, for a replay. */
  readonly arrival: Json
  readonly proofs: readonly Proof[]
  /** The time of receipt, in ms since the epoch. */
  readonly receivedAt: number
}

/**
 * The outcome of the verification. `gone` is the `Delete` of an actor whose origin confirms that it is deleted (410). `nothing` is such a
 * `Delete` of an actor that cannot be found, so that nobody can prove it, or an own post that a peer sends back.
 */
export type VerifiedDelivery = ProvenActivity | DeletedActor | 'nothing'

export interface DeletedActor {
  readonly gone: string
  readonly activity?: undefined
}

/** A proven activity and the name of its sender. */
export interface NamedActivity extends ProvenActivity {
  /** The address `@user@host`, confirmed by WebFinger. Absent if it is not confirmed, or if nothing needs the name. */
  readonly address: string | undefined
}

/** The facts about an activity that our own store had when the activity came, by query. A query without a result is absent. */
export type Facts = Readonly<Record<string, Json>>
