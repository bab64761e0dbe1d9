import type { Admitted, Intake } from './records/intake.ts'
import type { Refusal } from './records/records.ts'

/** Channels write here before they answer a peer. */
export interface IntakeStore {
  /** One transaction: duplicate check, thread, transcript, raw bytes, proofs, turn and handshakes. Durable when it resolves. */
  admit(intake: Intake, correlationId: string): Promise<Admitted>
  /** Remembers refused traffic, best effort and bounded; never throws. */
  refuse(refusal: Refusal): void
}

/** A rule that messages pass before they are stored. It refuses a message, changes it or leaves it as it is. */
export interface AdmissionRule {
  readonly name: string
  /**
   * Counts what one request of a peer brings. `from`: the peer's network address, empty when it is not known. Messages of the gateway's own
   * have no peer and are not counted. @throws Rejection `rate_limited`
   */
  count?(intakes: readonly Intake[], from: string): void
  /** The message as the next rule gets it, and in the end the store. Pure. @throws Rejection */
  admit?(intake: Intake): Intake
}

/** The way into the store. */
export interface AdmissionDeps {
  /** In this order. */
  readonly rules: readonly AdmissionRule[]
  readonly store: Pick<IntakeStore, 'admit'>
}
