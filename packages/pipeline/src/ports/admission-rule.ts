// Declares the rules that messages pass before they are stored.

import type { Intake } from './records/intake.ts'
import type { IntakeStore } from './store/intake-store.ts'

/** A rule that messages pass before they are stored. It refuses a message, changes it or leaves it as it is. */
export interface AdmissionRule {
  readonly name: string
  /**
   * Counts the messages of one request from a peer. `from` is the peer's network address, or empty if it is unknown. The gateway's own messages
   * have no peer and are not counted. @throws Rejection `rate_limited`
   */
  count?(intakes: readonly Intake[], from: string): void
  /** Does the same as `admit`, but only for messages of peers. */
  admitPeer?(intake: Intake): Intake
  /** Returns the message for the next rule, or finally for the store. It has no side effects. @throws Rejection */
  admit?(intake: Intake): Intake
}

/** The dependencies of admission: the rules that messages pass, and the store. */
export interface AdmissionDeps {
  /** The rules, in the order in which they apply. */
  readonly rules: readonly AdmissionRule[]
  readonly store: Pick<IntakeStore, 'admit'>
}
