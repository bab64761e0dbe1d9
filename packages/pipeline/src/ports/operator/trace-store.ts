// Declares the queries for the attempts at a message and the keys that proved it.

import type { EntryChange, ProofKey, TurnAttempt } from '@postern/message'
import type { DeliveryRecord } from '../records/operator/delivery-record.ts'
import type { Turn } from '../records/work/turn.ts'

/** The port to single records about a message, besides the operator's lists. */
export interface TraceStore {
  /** Finds a delivery with its attempts. */
  findDelivery(id: string): Promise<DeliveryRecord | undefined>
  /**
   * Records an attempt that was aborted or whose lease was lost, beside its turn. It records nothing for a withdrawn message, and never waits for
   * the disk.
   */
  noteAttempt(turn: Pick<Turn, 'message'>, attempt: TurnAttempt): Promise<void>
  /** Finds a public key in the form in which it proved a message; undefined if it has been deleted. */
  findProofKey(digest: string): Promise<ProofKey | undefined>
  /** Reads the turn of a message as a worker would lease it, to inspect the input of its agent; undefined if there is none. */
  readTurn(message: number): Promise<Turn | undefined>
  /** Lists the changes of those entries that have changed since they arrived. */
  listChanges(seqs: readonly number[]): Promise<readonly EntryChange[]>
}
