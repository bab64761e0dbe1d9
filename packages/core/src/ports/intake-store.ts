import type { Admitted, Intake } from './records/intake.ts'
import type { Refusal } from './records/records.ts'

/** Channels write here before they answer a peer. */
export interface IntakeStore {
  /** One transaction: duplicate check, thread, transcript, raw bytes, proofs, turn and handshakes. Durable when it resolves. */
  admit(intake: Intake, correlationId: string): Promise<Admitted>
  /**
   * Counts what is about to be admitted together, before any of it is durable; absent where nothing is limited. `from`: the peer's
   * network address, empty when it is not known. @throws Rejection `rate_limited`
   */
  countIn?(intakes: readonly Intake[], from: string): void
  /** Remembers refused traffic, best effort and bounded; never throws. */
  refuse(refusal: Refusal): void
}
