// Explains messages that were answered.
import type { Downtime } from '@postern/pipeline'
import type { WhyFacts } from '../facts.ts'
import type { Rule } from '../reason.ts'
import { formatQuantity, formatSpan, formatUtcTime } from '../reason.ts'

/** Describes the time and the destination of the answer. */
function describeAnswer({ answer, deliveries, message, turn, now }: WhyFacts): {
  readonly at: number
  readonly description: string
} {
  const sentDeliveries = deliveries.filter(({ isAnswer, state }) => isAnswer && state === 'sent')
  const answeredAt = Math.max(
    answer?.at ?? turn?.endedAt ?? message.receivedAt,
    ...sentDeliveries.map(({ endedAt = 0 }) => endedAt),
  )
  const [firstDelivery, ...furtherDeliveries] = sentDeliveries
  if (firstDelivery) {
    const otherRecipients =
      furtherDeliveries.length > 0 ? ` and ${formatQuantity(furtherDeliveries.length, 'other recipient')}` : ''
    return {
      at: answeredAt,
      description: `at ${formatUtcTime(answeredAt, now)} to ${firstDelivery.to}${otherRecipients}`,
    }
  }
  return {
    at: answeredAt,
    description: `at ${formatUtcTime(answeredAt, now)} ${message.isTask ? 'in the task that its peer called' : 'without a delivery'}`,
  }
}

/** Returns true if the agent answered. A refusal by the agent counts as an answer. */
function isAnswered({ turn }: WhyFacts): boolean {
  return turn?.state === 'answered'
}

/** Explains an unasked post of the agent, which lists show as an answered message. */
export const ownAction: Rule<WhyFacts> = facts => {
  const { message, deliveries, now } = facts
  if (!isAnswered(facts) || !message.flags.includes('post')) return undefined
  const receivedTime = formatUtcTime(message.receivedAt, now)
  const sentCount = deliveries.filter(({ state }) => state === 'sent').length
  return {
    code: 'posted',
    sentence: `Posted unasked by the agent at ${receivedTime}${sentCount ? `, to ${formatQuantity(sentCount, 'recipient')}` : ''}`,
    since: message.receivedAt,
  }
}

/** Explains an answer that an operator gave by a replay. */
export const replayedAnswer: Rule<WhyFacts> = ({ replayAnswer, now }) => {
  if (!replayAnswer) return undefined
  return {
    code: 'answered_by_replay',
    sentence: `Answered at ${formatUtcTime(replayAnswer.at, now)} by a replay that an operator committed`,
    since: replayAnswer.at,
    fix: { text: 'Nothing to fix: see its delivery.', command: `npx postern why ${replayAnswer.id}` },
  }
}

export const retractedAnswer: Rule<WhyFacts> = ({ answer, now }) => {
  if (answer?.retractedAt === undefined) return undefined
  const sentence = `Answered at ${formatUtcTime(answer.at, now)}, and the agent took the answer back at ${formatUtcTime(answer.retractedAt, now)}`
  return { code: 'answer_taken_back', sentence, since: answer.retractedAt }
}

/** The shortest delay that is reported, ms. */
const lateMs = 1_000
/** The longest usual transit time of a message, ms. */
const transitMs = 60_000

/** Finds the downtime during which a message waited or could not arrive, with the words for it. */
function findDowntime({ message: { receivedAt, sentAt }, downtimes }: WhyFacts, endedAt: number) {
  const isWithin = ({ from, to }: Downtime) => from >= receivedAt - lateMs && to <= endedAt
  const matchingDowntime = downtimes.find(isWithin)
  if (matchingDowntime) return { downtime: matchingDowntime, cause: 'the gateway was down' }
  if (sentAt === undefined) return undefined
  const hasMissed = ({ from, to }: Downtime) => from - transitMs <= sentAt && sentAt < to && to <= receivedAt
  const missedDowntime = downtimes.find(hasMissed)
  return missedDowntime && { downtime: missedDowntime, cause: 'its peer sent it while the gateway was down' }
}

/** Explains a late answer by a downtime of the gateway. */
export const lateAnswer: Rule<WhyFacts> = facts => {
  if (!isAnswered(facts)) return undefined
  const { turn, now } = facts
  const { at, description } = describeAnswer(facts)
  const delay = findDowntime(facts, turn?.endedAt ?? at)
  if (!delay) return undefined
  const { from, to } = delay.downtime
  return {
    code: 'gateway_was_down',
    sentence: `Answered late, ${description}: ${delay.cause} from ${formatUtcTime(from, now)} to ${formatUtcTime(to, now)} (${formatSpan(to - from)})`,
    since: from,
    evidence: [
      { at: from, fact: 'no gateway ran from this time on, to the minute' },
      { at: to, fact: 'a gateway began' },
    ],
    fix: { text: 'Let a supervisor restart the gateway (deploy/ has a unit for systemd), and watch /healthz.' },
  }
}

export const repeatedMessage: Rule<WhyFacts> = facts => {
  const { duplicates } = facts.message
  if (!isAnswered(facts) || duplicates === 0) return undefined
  const { at, description } = describeAnswer(facts)
  return {
    code: 'duplicate',
    sentence: `Answered once ${description}; its peer sent it ${formatQuantity(duplicates, 'more time')}, and copies get no further answer`,
    since: at,
    fix: { text: 'Nothing to fix. A sender who wants a new answer has to send a new message with an id of its own.' },
  }
}

export const answeredMessage: Rule<WhyFacts> = facts => {
  if (!isAnswered(facts)) return undefined
  const { at, description } = describeAnswer(facts)
  const { status } = facts.answer ?? {}
  const verb = status === 'rejected' ? 'Answered with a refusal of the agent' : 'Answered'
  return { code: 'answered', sentence: `${verb} ${description}`, since: at }
}
