import type { Proof } from '@postern/core'
import type { Activity } from '../format/activity.ts'
import type { RemoteActor } from '../peers/remote-actor.ts'

export declare const provenBrand: unique symbol

/** An activity its actor has proven to be its own; only `verifyDelivery` makes one. */
export interface ProvenActivity {
  readonly [provenBrand]: true
  readonly activity: Activity
  readonly actor: RemoteActor
  /** Of the actor's HTTP signature; absent when another server passes the activity on, and the document proves itself. */
  readonly keyId: string | undefined
  /** Of the proof the document itself carries, when it holds. */
  readonly objectKeyId: string | undefined
  readonly bytes: Uint8Array
  readonly proofs: readonly Proof[]
  /** Milliseconds. */
  readonly receivedAt: number
}

/**
 * `gone`: the farewell of an actor whose origin says the same (410). `nothing`: one of an actor that cannot be found; there is
 * nobody left to prove it. Or a post of our own that comes back.
 */
export type VerifiedDelivery = ProvenActivity | DeletedActor | 'nothing'

export interface DeletedActor {
  readonly gone: string
  readonly activity?: undefined
}
