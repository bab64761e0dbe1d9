import type { Json, Proof } from '@postern/core'
import type { Activity } from '../format/document.ts'
import type { RemoteActor } from '../peers/actor-document.ts'

export declare const provenBrand: unique symbol

/** An activity its actor has proven to be its own; only `verifyDelivery` makes one. */
export interface ProvenActivity {
  readonly [provenBrand]: true
  readonly activity: Activity
  readonly actor: RemoteActor
  /**
   * The proof of the actor's HTTP signature. Absent when another server forwards the activity, and the document proves
   * itself.
   */
  readonly keyId: string | undefined
  /** The proof of the document itself, when it holds. */
  readonly objectKeyId: string | undefined
  readonly bytes: Uint8Array
  /** The request beside its body, for a replay. */
  readonly arrival: Json
  readonly proofs: readonly Proof[]
  /** Milliseconds. */
  readonly receivedAt: number
}

/**
 * `gone`: the farewell of an actor whose origin confirms it (410). `nothing`: a farewell of an actor that cannot be
 * found, so that nobody can prove it; or an own post that comes back.
 */
export type VerifiedDelivery = ProvenActivity | DeletedActor | 'nothing'

export interface DeletedActor {
  readonly gone: string
  readonly activity?: undefined
}

/** A proven activity and the name of who sent it. */
export interface NamedActivity extends ProvenActivity {
  /** `@user@host` as WebFinger confirms it; absent when it does not, or when nothing needs the name. */
  readonly address: string | undefined
}

/** What our own store knew of an activity when it came, by question. What it did not know is not in it. */
export type Facts = Readonly<Record<string, Json>>
