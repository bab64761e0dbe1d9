// Defines the outcome of verifying an activity: a proven activity, a deleted actor, or an activity to ignore.
import type { Json, Proof } from '@postern/message'
import type { Activity } from '../format/activity.ts'
import type { RemoteActor } from '../peers/actor-document.ts'

declare const provenBrand: unique symbol

/** An activity as a request to an inbox brings it. */
export interface IncomingActivity {
  readonly activity: Activity
  readonly bytes: Uint8Array
  /** The request without its body, for a replay. */
  readonly arrival: Json
}

/** An activity that its actor has proven to be its own. */
export interface ProvenActivity extends IncomingActivity {
  readonly [provenBrand]: true
  readonly actor: RemoteActor
  /** The id of the key that made the actor's HTTP signature. Absent if another server forwards the activity and the document proves itself. */
  readonly keyId: string | undefined
  /** The id of the key that made the proof of the document itself. Absent if there is no valid proof. */
  readonly objectKeyId: string | undefined
  readonly proofs: readonly Proof[]
  /** The time of receipt, in ms since the epoch. */
  readonly receivedAt: number
}

/** Marks an activity as proven. Only the modules of this folder call it, after all their checks. */
export function createProvenActivity(activity: Omit<ProvenActivity, typeof provenBrand>): ProvenActivity {
  return activity as ProvenActivity
}

/**
 * The outcome of the verification. `DeletedActor` is the `Delete` of an actor whose origin confirms the deletion (410). `ignored` is the
 * `Delete` of an actor that cannot be found, because nobody can prove that deletion. Our own post that a peer sends back is `ignored`, too.
 */
export type VerifiedInboxRequest = ProvenActivity | DeletedActor | 'ignored'

export interface DeletedActor {
  readonly deletedActor: string
  readonly activity?: undefined
}

/** A proven activity and the confirmed address of its sender. */
export interface NamedActivity extends ProvenActivity {
  /** The address `@user@host`, confirmed by WebFinger. Absent if it is not confirmed, or if nothing needs the name. */
  readonly address: string | undefined
}

/** The facts that our store knew when an activity arrived, by the query that asked for them. A query without a result is absent. */
export type StoredFacts = Readonly<Record<string, Json>>
