// Declares the steps of a channel from bytes to messages: verify and normalize.

import type { ChannelName } from '@postern/message'
import type { Intake } from '../records/intake.ts'
import type { UnusedIntake } from '../records/operator/refusal.ts'
import type { Withdrawal } from '../records/relation.ts'
import type { IntakeSteps } from './intake-steps.ts'

/** The steps from wire to message. `Proven` has a brand that only `verify` can create. Functions that return no promise have no side effects. */
export interface Inbound<Raw, Proven> {
  readonly name: ChannelName
  /** Verifies the speaker and their proof, and records each check in `steps`. @throws Rejection, Unavailable */
  verify(raw: Raw, steps: IntakeSteps): Promise<Proven>
  /** Returns one intake for each addressed local agent; none for a well-formed request without work. */
  normalize(proven: Proven): readonly Intake[]
  /** Returns the withdrawals that the request makes, even of messages that never arrived here. */
  listWithdrawals?(proven: Proven): readonly Withdrawal[]
  /** Returns the reason, for the operator, why a well-formed message reaches no agent. */
  describeUnused?(proven: Proven): UnusedIntake | undefined
}
