// Defines an activity with literal members, before its proof.
import type { Iri } from './iri.ts'
import type { JsonObject } from './json-object.ts'

/** An activity with literal members and origins that fit together. Its actor is not proven yet. */
export interface Activity {
  readonly id: string
  readonly type: string
  readonly actor: Iri
  /** The document in the one form that all readers know. */
  readonly json: JsonObject
  /** The document as received. The proof of the activity covers them. */
  readonly receivedJson: JsonObject
}
