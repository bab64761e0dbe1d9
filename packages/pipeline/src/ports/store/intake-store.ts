// Declares the port through which messages enter the store.

import type { AdmitResult, Intake } from '../records/intake.ts'
import type { Refusal } from '../records/operator/refusal.ts'

/** The store for arriving messages. Channels write to it before they answer a peer. */
export interface IntakeStore {
  /**
   * Admits a message in one transaction: duplicate check, thread, transcript, raw bytes, proofs, turn and handshakes. Resolves once all of it is
   * durable.
   */
  admit(intake: Intake, correlationId: string): Promise<AdmitResult>
  /**
   * Counts refused requests and lists a bounded sample of them. It does so with best effort and never throws.
   * @returns true if this one is listed; the log has the same sample
   */
  refuse(refusal: Refusal): boolean
}
