import type { Json } from '../../format/json.ts'

/** What a document or a name said when somebody looked it up. */
export interface Lookup {
  /** What was asked for: `GET <accept> <url>`, `DNS <type> <name>`. */
  readonly key: string
  /** When the answer came, ms since 1970-01-01 UTC. */
  readonly at: number
  /** The answer, or how there was none; `createLookupPlatform` reads it again. */
  readonly answer: Json
  /** The principal whose document it is, where it is a person's: it goes with them. */
  readonly owner?: string | undefined
  /** Id of the post that the answer shows: it goes when its owner takes the post back. */
  readonly object?: string | undefined
}

/** A stored message with what its channel takes to read it again. */
export interface StoredArrival {
  readonly number: number
  /** What came beside the bytes; undefined where nothing was kept. */
  readonly arrival: Json | undefined
  /** Undefined once the message was forgotten. */
  readonly raw: Uint8Array | undefined
  readonly target: Json
  /** Earlier messages that were answered together with it. */
  readonly merged: readonly number[]
}

/** What it takes to run a stored message again as it was then. */
export interface ReplayStore {
  /** Remembers what was looked up, best effort and bounded; never throws. What says the same as the last time is not written again. */
  noteLookup(lookup: Lookup): void
  /** The last answer to a question until `at` (ms); undefined when there was none, or it is kept no more. */
  findLookup(key: string, at: number): Promise<Json | undefined>
  findArrival(message: number): Promise<StoredArrival | undefined>
}
