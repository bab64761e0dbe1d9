import type { DeliveryRecord } from '../records/records.ts'
import type { EntryChange, ProofKey } from './trace.ts'

/** Where the record of a message is looked up, beside the operator's lists. */
export interface TraceStore {
  /** With its attempts. */
  findDelivery(id: string): Promise<DeliveryRecord | undefined>
  /** A public key as it was when it proved a message; undefined when it is kept no more. */
  findProofKey(digest: string): Promise<ProofKey | undefined>
  /** Which of these entries are no longer what they were when they came. */
  listChanges(seqs: readonly number[]): Promise<readonly EntryChange[]>
}
