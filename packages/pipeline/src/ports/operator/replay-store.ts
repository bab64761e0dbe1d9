// Declares the queries by which a stored message runs again under its original conditions.

import type { Json } from '@postern/message'

/** The recorded content of a document or a DNS name at the time of a lookup. */
export interface Lookup {
  /** The question: `GET <accept> <url>`, `DNS <type> <name>`. */
  readonly key: string
  /** The time of the answer, ms since 1970-01-01 UTC. */
  readonly at: number
  /** The answer, or the failure to get one. A replay reads it again. */
  readonly answer: Json
  /** The principal who owns the document, if it belongs to a person. The lookup is deleted with the person. */
  readonly owner?: string | undefined
  /** The id of the post that the answer shows. The lookup is deleted when its owner withdraws the post. */
  readonly object?: string | undefined
}

/** A stored message with the data that its channel needs to read it again. */
export interface StoredArrival {
  readonly number: number
  /** The data that arrived beside the bytes; undefined if none was stored. */
  readonly arrival: Json | undefined
  /** The bytes that arrived; undefined once the message is forgotten. */
  readonly raw: Uint8Array | undefined
  readonly target: Json
  /** The numbers of earlier messages that were answered together with it. */
  readonly merged: readonly number[]
}

/** The port to the data that a stored message needs in order to run again under its original conditions. */
export interface ReplayStore {
  /** Records a lookup, with best effort and within limits; never throws. It does not record an answer that equals the previous one. */
  noteLookup(lookup: Lookup): void
  /** Finds the last answer to a question until `at` (ms); undefined if there was none, or if it has been deleted. */
  findLookup(key: string, at: number): Promise<Json | undefined>
  findArrival(message: number): Promise<StoredArrival | undefined>
}
