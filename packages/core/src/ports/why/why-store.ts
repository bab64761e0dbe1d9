import type { Refusal } from '../records/records.ts'
import type { WhyRecord } from './why-record.ts'

/** What an operator may mean by an id, a number or an address. */
export interface WhyWords {
  /** An id of a peer or of ours, in each way it may be written; most likely first. */
  readonly ids: readonly string[]
  /** Our number of a message. */
  readonly message?: number | undefined
  readonly delivery?: number | undefined
  /** Place of a refusal. */
  readonly refusal?: number | undefined
  /** The name of an agent. */
  readonly agent?: string | undefined
  /** `@name@domain` of a sender. */
  readonly sender?: string | undefined
}

/** Where to look for the reason. */
export interface WhySubject {
  /** The words that found it. */
  readonly by: 'id' | 'message' | 'delivery' | 'address'
  /** Numbers of messages; by an id the first is the most trusted one, by an address the newest. */
  readonly messages: readonly number[]
}

export interface WhyStore {
  /**
   * The messages that the words name: the ids first, then the numbers, then the addresses. Undefined when nothing is known of them.
   * Reads a bounded number of rows: addresses and ids that have no index are looked for among the newest 10,000 entries.
   */
  findWhySubject(words: WhyWords): Promise<WhySubject | undefined>
  /** In this order, without those that are not there. A constant number of statements, however many they are; at most 500. */
  listWhyRecords(numbers: readonly number[]): Promise<readonly WhyRecord[]>
  /** What was refused of a peer's id, or of an address; newest first, at most 10. */
  listWhyRefusals(words: WhyWords): Promise<readonly Refusal[]>
  /** A gateway begins, goes on or ends its work: by the gaps one tells when none ran. */
  noteGatewayRun(holder: string, stage: 'begins' | 'runs' | 'ends'): Promise<void>
}
