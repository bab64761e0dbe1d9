// Explains answers that were not delivered.
import type { DeliveryReason } from '@postern/message'
import type { WhyDelivery } from '@postern/pipeline'
import type { WhyFacts } from '../facts.ts'
import type { Evidence, FixTexts, Reason, Rule } from '../reason.ts'
import { causeOf, formatQuantity, formatUtcTime, quoteLine, writeFix } from '../reason.ts'

/** An undelivered answer with the facts of its message. */
interface UnsettledDelivery {
  readonly delivery: WhyDelivery
  readonly facts: WhyFacts
}

interface DeliveryCase extends FixTexts<UnsettledDelivery> {
  readonly code: string
  fits(delivery: WhyDelivery): boolean
  why(subject: UnsettledDelivery): string
}

const retry = ({ delivery }: UnsettledDelivery) => `npx postern deliveries retry ${delivery.number}`
/** Creates a condition on the reason of a delivery. Deliveries of older versions have no recorded reason, so the text of their error decides. */
const hasReason = (recordedReason: DeliveryReason, pattern: RegExp) => {
  return ({ reason, error = '' }: WhyDelivery) =>
    reason === undefined ? pattern.test(error) : reason === recordedReason
}

/** Cases in which an answer never arrives. */
const deadCases: readonly DeliveryCase[] = [
  {
    code: 'suppressed',
    fits: hasReason('suppressed', /this address is suppressed/),
    why: ({ delivery: { to, error = '' } }) =>
      `${to} is suppressed (${quoteLine(/suppressed \((.*)\)$/s.exec(error)?.[1] ?? 'no reason is known')})`,
    fix: 'Lift the suppression once the mailbox takes mail again, then retry. A proven mail from there lifts it, too.',
    command: ({ delivery: { to }, facts: { message } }) => `npx postern suppressions lift ${message.agent} ${to}`,
  },
  {
    code: 'sender_removed',
    fits: hasReason('sender_removed', /^its agent ".*" is not configured any more$/),
    why: ({ facts: { message } }) => `the configuration no longer has the agent "${message.agent}"`,
    fix: 'Nothing to fix where that is meant. Otherwise put the agent back into the configuration, then retry.',
    command: retry,
  },
  {
    code: 'channel_closed',
    fits: hasReason('channel_closed', /^the channel ".*" is not open$/),
    why: ({ delivery: { error = '' } }) => quoteLine(error),
    fix: 'Put the channel back into the configuration, then retry.',
    command: retry,
  },
  {
    code: 'recipient_blocks',
    fits: hasReason('blocked', /^the recipient (?:has blocked this agent|is gone)$/),
    why: ({ delivery: { error = '' } }) => quoteLine(error),
    fix: 'Nothing to fix: the gateway does not write to somebody who blocks the agent or is gone.',
  },
  {
    code: 'dropped',
    fits: hasReason('dropped', /^dropped by the operator$/),
    why: () => 'an operator dropped it',
    fix: 'Retry it when that was a mistake.',
    command: retry,
  },
  {
    code: 'taken_back',
    fits: hasReason('taken_back', /taken (?:it )?back|was taken back/),
    why: ({ delivery: { error = '' } }) => quoteLine(error),
    fix: 'Nothing to fix: nobody waits for the answer.',
  },
  {
    code: 'bounced',
    // If no reason is recorded, only a bounced delivery has both a reply of the receiving server and an error.
    fits: ({ reason, note, error }) =>
      reason === undefined ? note !== undefined && error !== undefined : reason === 'bounced',
    why: ({ delivery: { to, error = '' } }) => `it was taken and came back from ${to} (${quoteLine(error)})`,
    fix: 'Correct the address, or reach the person another way; then retry.',
    command: retry,
  },
  {
    code: 'delivery_given_up',
    fits: hasReason('given_up', /^given up after \d+ tries/),
    why: ({ delivery: { to, error = '', attempts } }) =>
      `${to} could not be reached (${causeOf(error)}), given up after ${formatQuantity(attempts, 'try', 'tries')}`,
    fix: 'Retry it once the host is back. delivery.give_up_after_hours says how long it is tried.',
    command: retry,
  },
  {
    code: 'delivery_refused',
    fits: () => true,
    why: ({ delivery: { to, error = '' } }) => `${to} refused it for good (${causeOf(error)})`,
    fix: 'Correct what the far side names, then retry.',
    command: retry,
  },
]

/** Cases in which an answer may still arrive. */
const openCases: readonly DeliveryCase[] = [
  {
    code: 'being_sent',
    fits: ({ isLeased }) => isLeased,
    why: ({ delivery: { to } }) => `it is being sent to ${to}`,
    fix: 'Wait a moment.',
  },
  {
    code: 'breaker_open',
    fits: hasReason('host_left_alone', /^its host does not answer and is left alone/),
    why: explainRetry('its host did not answer several times in a row and is left alone'),
    fix: 'It goes out by itself once the host answers. A restart of the gateway forgets that the host is left alone.',
    command: retry,
  },
  {
    code: 'host_asked_for_time',
    fits: hasReason('host_asked_for_time', /^its host asked for time$/),
    why: explainRetry('its host asked for time (Retry-After)'),
    fix: 'Wait: it goes out by itself.',
  },
  {
    code: 'delivery_queued',
    fits: ({ dueAt }) => dueAt === undefined,
    why: ({ delivery: { to } }) => `it waits behind an earlier one of the same conversation to ${to}`,
    fix: 'See what holds up the earlier one.',
    command: 'npx postern deliveries --state later',
  },
  {
    code: 'delivery_waiting',
    fits: ({ error }) => error !== undefined,
    why: subject => {
      const { attempts, error = '' } = subject.delivery
      return explainRetry(`${causeOf(error)}, ${formatQuantity(attempts, 'try', 'tries')}`)(subject)
    },
    fix: 'It is tried again by itself; retry it now when the cause is gone.',
    command: retry,
  },
  {
    code: 'delivery_due',
    fits: () => true,
    why: ({ delivery: { to } }) => `it is about to go to ${to}`,
    fix: 'Wait a moment.',
  },
]

function explainRetry(cause: string): DeliveryCase['why'] {
  return ({ delivery: { to, dueAt }, facts: { now } }) => {
    const next =
      dueAt === undefined || dueAt <= now ? 'the next try is due now' : `next try at ${formatUtcTime(dueAt, now)}`
    return `${to} did not take it (${cause}); ${next}`
  }
}

/** Explains an answer that did not reach every recipient. Lost deliveries count before open ones. */
export const undeliveredAnswer: Rule<WhyFacts> = facts => {
  const answers = facts.deliveries.filter(({ isAnswer }) => isAnswer)
  const lostDelivery = answers.find(({ state }) => state === 'dead' || state === 'dismissed')
  if (lostDelivery) return writeReason({ delivery: lostDelivery, facts }, deadCases)
  const openAnswers = answers.filter(({ endedAt }) => endedAt === undefined)
  const pendingDelivery = openAnswers.find(({ state }) => state === 'later') ?? openAnswers[0]
  return pendingDelivery && writeReason({ delivery: pendingDelivery, facts }, openCases)
}

function writeReason(subject: UnsettledDelivery, cases: readonly DeliveryCase[]): Reason | undefined {
  const { delivery, facts } = subject
  const matchingCase = cases.find(({ fits }) => fits(delivery))
  if (!matchingCase) return undefined
  const since = delivery.endedAt ?? delivery.queuedAt
  const count = facts.deliveries.filter(({ isAnswer }) => isAnswer).length
  const countNote = count > 1 ? ` (one of ${count} deliveries)` : ''
  const [at, why] = [formatUtcTime(since, facts.now), matchingCase.why(subject)]
  const sentence =
    delivery.endedAt === undefined
      ? `The answer is not delivered yet${countNote}, since ${at}: ${why}`
      : `The answer was not delivered${countNote}: ${why}, at ${at}`
  return { code: matchingCase.code, sentence, since, fix: writeFix(matchingCase, subject) }
}

/** Describes a delivery in one line. */
export function describeDelivery({
  number,
  to,
  state,
  attempts,
  queuedAt,
  endedAt,
  error,
  note,
  dueAt,
}: WhyDelivery): readonly Evidence[] {
  const tries = formatQuantity(attempts, 'try', 'tries')
  const detail = error === undefined ? (note === undefined ? '' : ` (${quoteLine(note)})`) : ` (${quoteLine(error)})`
  return [
    { at: endedAt ?? queuedAt, fact: `delivery ${number} to ${to}: ${state} after ${tries}${detail}` },
    ...(endedAt === undefined && dueAt !== undefined ? [{ at: dueAt, fact: `next try of delivery ${number}` }] : []),
  ]
}
