// Receives a message from a channel and stores it: verify, normalize, admission rules, admit.

import { randomHex } from '@postern/message'
import type { AdmissionDeps, AdmissionRule } from '../ports/admission-rule.ts'
import type { Inbound } from '../ports/channel/inbound.ts'
import type { IntakeSteps } from '../ports/channel/intake-steps.ts'
import { createIntakeSteps } from '../ports/channel/intake-steps.ts'
import type { AdmitResult, Intake } from '../ports/records/intake.ts'
import type { IntakeStore } from '../ports/store/intake-store.ts'
import type { WithdrawalStore } from '../ports/store/withdrawal-store.ts'
import { callerFields } from '../turn/trace/log-fields.ts'
import { readVisibleIntake } from './admission/visible-intake.ts'
import type { RefusalDeps } from './record-refusal.ts'
import { recordRefusal, recordUnused } from './record-refusal.ts'

export interface ReceiveDeps extends RefusalDeps {
  readonly admission: AdmissionDeps
  readonly store: Pick<IntakeStore, 'refuse'> & Pick<WithdrawalStore, 'withdraw'>
  /** The record of the checks, created when the first bytes arrived; default: created now. */
  readonly steps?: IntakeSteps | undefined
}

/**
 * Verifies and normalizes a message, removes invisible characters, applies the admission rules and admits it. Once it resolves, everything is
 * durable, and the channel may confirm the message to the peer. Returns an empty list for a well-formed message without work.
 * @throws Rejection, Unavailable
 */
export async function receive<Raw, Proven>(
  inbound: Inbound<Raw, Proven>,
  raw: Raw,
  deps: ReceiveDeps,
): Promise<readonly AdmitResult[]> {
  const { admission, store, system, from, steps = createIntakeSteps(system) } = deps
  try {
    const proven = await inbound.verify(raw, steps)
    const intakes = applyRules(admission.rules, inbound.normalize(proven).map(readVisibleIntake), from)
    const correlationId = randomHex(system, 8)
    const record = { trace: steps.trace(), proofKeys: steps.keys() }
    const admit = (intake: Intake) => admission.store.admit({ ...intake, ...withSentAt(record, intake) }, correlationId)
    const [firstIntake, ...otherIntakes] = intakes
    // All messages at once, so that the store can commit them in one transaction.
    const admitResults =
      otherIntakes.length > 0 ? await Promise.all(intakes.map(admit)) : firstIntake ? [await admit(firstIntake)] : []
    for (const { outcome, message } of admitResults) {
      const caller = firstIntake ? callerFields(firstIntake.message) : {}
      system.log.info(
        { correlation_id: correlationId, ...caller, via: inbound.name, message, outcome },
        'message admitted',
      )
    }
    // Withdrawals come last, so that a request that a peer repeats still finds the messages that it withdraws.
    const withdrawals = inbound.listWithdrawals?.(proven) ?? []
    if (withdrawals.length > 0) await store.withdraw(inbound.name, withdrawals)
    const unusedIntake = inbound.describeUnused?.(proven)
    if (unusedIntake) recordUnused(unusedIntake, inbound.name, { ...deps, ...steps.claims() })
    return admitResults
  } catch (error) {
    recordRefusal(error, inbound.name, { ...deps, ...steps.claims() })
    throw error
  }
}

/** Adds the time that the message claims to its record. */
function withSentAt(record: Required<Pick<Intake, 'trace' | 'proofKeys'>>, { sentAt }: Intake) {
  const isKnown = sentAt !== undefined && Number.isSafeInteger(sentAt)
  return isKnown && record.trace ? { ...record, trace: { ...record.trace, sent_at: sentAt } } : record
}

/** Applies each rule to all messages before the next rule. @throws Rejection of the first rule that refuses one */
function applyRules(rules: readonly AdmissionRule[], intakes: readonly Intake[], from: string): readonly Intake[] {
  let admittedIntakes = intakes
  for (const rule of rules) {
    rule.count?.(admittedIntakes, from)
    if (rule.admitPeer) admittedIntakes = admittedIntakes.map(rule.admitPeer)
    if (rule.admit) admittedIntakes = admittedIntakes.map(rule.admit)
  }
  return admittedIntakes
}

/**
 * Stores a message that the gateway creates itself. It passes the same rules as messages of peers but is not counted, because messages between local
 * agents must not use up the limits of peers. @throws Rejection
 */
export async function admitOwn(
  intake: Intake,
  { rules, store }: AdmissionDeps,
  correlationId: string,
): Promise<AdmitResult> {
  const admittedIntake = rules.reduce(
    (currentIntake, rule) => rule.admit?.(currentIntake) ?? currentIntake,
    readVisibleIntake(intake),
  )
  return store.admit(admittedIntake, correlationId)
}
