import type { DeliveryRecord } from '../records/records.ts'
import type { Turn } from '../records/work.ts'
import type { EntryChange, ProofKey, TurnAttempt } from './trace.ts'

/** Where the record of a message is looked up, beside the operator's lists. */
export interface TraceStore {
  /** With its attempts. */
  findDelivery(id: string): Promise<DeliveryRecord | undefined>
  /**
   * Keeps how an attempt went that was broken off, or whose lease was lost, beside its turn; nothing of a message that was taken back. Never
   * waits for the disk.
   */
  noteAttempt(turn: Pick<Turn, 'message'>, attempt: TurnAttempt): Promise<void>
  /** A public key as it was when it proved a message; undefined when it is kept no more. */
  findProofKey(digest: string): Promise<ProofKey | undefined>
  /** The turn of a message as a worker would take it up, for a look at what its agent is given; undefined when there is none. */
  readTurn(message: number): Promise<Turn | undefined>
  /** Which of these entries are no longer what they were when they came. */
  listChanges(seqs: readonly number[]): Promise<readonly EntryChange[]>
}
