// Declares the query for the facts that explain the answer to a message.

import type { Refusal } from '../records/operator/refusal.ts'
import type { RunSetup, SetupDifference } from '../records/operator/run-setup.ts'
import type { WhyRecord } from '../records/operator/why-record.ts'

/** The possible meanings of an id, a number or an address that an operator gives. */
export interface WhyQuery {
  /** An id of a peer or of ours, in each way it may be written; most likely first. */
  readonly ids: readonly string[]
  /** Our number of a message. */
  readonly message?: number | undefined
  readonly delivery?: number | undefined
  /** Number of a refusal. */
  readonly refusal?: number | undefined
  /** The name of an agent. */
  readonly agent?: string | undefined
  /** `@name@domain` of a sender. */
  readonly sender?: string | undefined
}

/** The records in which the reason is found. */
export interface WhySubject {
  /** The kind of search term that found the messages. */
  readonly by: 'id' | 'message' | 'delivery' | 'address'
  /** Numbers of messages; by an id the first is the most trusted one, by an address the newest. */
  readonly messages: readonly number[]
}

export interface WhyStore {
  /**
   * Finds the messages that the query names: by the ids first, then by the numbers, then by the addresses. Returns undefined if the store knows none.
   * It reads a bounded number of rows: it searches only the newest 10,000 entries for addresses and for ids without an index.
   */
  findWhySubject(query: WhyQuery): Promise<WhySubject | undefined>
  /** Lists the records of at most 500 messages in the given order, without missing ones, by a constant number of statements. */
  listWhyRecords(numbers: readonly number[]): Promise<readonly WhyRecord[]>
  /** Lists the refusals of a peer's id, or of an address; newest first, at most 10. */
  listWhyRefusals(query: WhyQuery): Promise<readonly Refusal[]>
  /**
   * Records that a gateway begins its work, and whose data it is. If its setup differs from that of the store or of a running gateway, it returns
   * the difference and records nothing. With `adopts`, the store takes over the given mode and origin.
   */
  beginGatewayRun(
    holder: string,
    setup: RunSetup,
    options?: { readonly adopts?: boolean | undefined },
  ): Promise<SetupDifference | undefined>
  /** Returns how a setup differs from that of the store or of a gateway that runs, as `beginGatewayRun` would. */
  findSetupDifference(setup: RunSetup): Promise<SetupDifference | undefined>
  /** Records that a gateway still runs or ends its work. Gaps between these records show when no gateway ran. */
  noteGatewayRun(holder: string, stage: 'runs' | 'ends'): Promise<void>
}
