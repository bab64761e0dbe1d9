// Explains turns that failed or ended without an answer.
import type { TurnReason } from '@postern/message'
import type { WhyFacts } from '../facts.ts'
import type { FixTexts, Reason, Rule } from '../reason.ts'
import { causeOf, formatErrorPosition, formatQuantity, formatUtcTime, quoteLine, writeFix } from '../reason.ts'
import { describeBackend, fixBackend, nameBackend } from './open-turns.ts'

/** A failed turn with its error and time. */
interface FailedTurn {
  readonly facts: WhyFacts
  readonly turn: NonNullable<WhyFacts['turn']>
  readonly error: string
  readonly at: string
}

interface FailureCase extends FixTexts<FailedTurn> {
  readonly code: string
  /** The end or the reason of the attempt, as the gateway records it. */
  readonly recordedReason: TurnReason | 'timed_out'
  /** Matches the text of the error in records of older versions, which have no reasons. */
  readonly pattern: RegExp
  why(failure: FailedTurn): string
}

/** Cases of failed turns. */
const failures: readonly FailureCase[] = [
  {
    code: 'deadline',
    recordedReason: 'timed_out',
    pattern: /^the agent took too long$/,
    why: ({ facts: { message, agent }, turn }) => {
      const ms = turn.attempts.at(-1)?.deadline_ms
      const deadline = ms === undefined ? agent?.deadline : `${ms / 1_000}s`
      return `the agent took longer than agents.${message.agent}.deadline${deadline === undefined ? '' : ` (${deadline})`}`
    },
    fix: ({ facts: { message } }) =>
      `Make the agent faster, let it stop when its signal aborts, or raise agents.${message.agent}.deadline.`,
  },
  {
    code: 'agent_removed',
    recordedReason: 'agent_removed',
    pattern: /^there is no such agent any more$/,
    why: ({ facts: { message } }) => `the configuration no longer has the agent "${message.agent}"`,
    fix: ({ facts: { message } }) => `Put agents.${message.agent} back, or tell its correspondents.`,
  },
  {
    code: 'agent_crashes',
    recordedReason: 'agent_crashes',
    pattern: /^gave up after \d+ crashes$/,
    why: ({ turn }) =>
      `the process of the gateway ended ${formatQuantity(turn.crashes, 'time')} in the middle of it, at last while it ran alone; so it is not tried again`,
    fix: ({ facts: { message } }) =>
      `The agent may end the process (out of memory, process.exit): look at the log of agent "${message.agent}".`,
  },
  {
    code: 'answer_unstorable',
    recordedReason: 'answer_unstorable',
    pattern: /^the answer cannot be stored$/,
    why: () => 'the agent gave an answer that cannot be stored, such as one that is not JSON',
    fix: 'Let the agent answer with text or parts; the log has the error.',
  },
  {
    code: 'answer_invalid',
    recordedReason: 'answer_invalid',
    pattern: /^Cannot read (?:the answer|webhook reply): /,
    why: ({ facts: { message }, error }) =>
      `agent "${message.agent}" gave an answer that is not valid (${causeOf(error)})`,
    fix: ({ facts: { message } }) => `Correct these members where agent "${message.agent}" answers.`,
  },
]

/** Explains a failed turn. */
export const failedTurn: Rule<WhyFacts> = facts => {
  const { turn, now } = facts
  if (turn?.state !== 'failed' || turn.endedAt === undefined) return undefined
  if (turn.error === undefined) return explainFailedAnswer(facts, turn.endedAt)
  const failure = { facts, turn, error: turn.error, at: formatUtcTime(turn.endedAt, now) }
  const matchingCase = failures.find(failureCase => isRecorded(failureCase, failure))
  if (!matchingCase) return explainUnreachable(failure) ?? explainRemoteFailure(failure) ?? explainThrownError(failure)
  return {
    code: matchingCase.code,
    sentence: `Failed at ${failure.at}: ${matchingCase.why(failure)}`,
    since: turn.endedAt,
    evidence: describeBackend(facts.agent),
    fix: writeFix(matchingCase, failure),
  }
}

function isRecorded({ recordedReason, pattern }: FailureCase, { turn, error }: FailedTurn): boolean {
  const { outcome, reason } = turn.attempts.at(-1) ?? {}
  return reason === undefined ? outcome === recordedReason || pattern.test(error) : reason === recordedReason
}

/** Explains an answer with the status `failed`. */
function explainFailedAnswer({ message, now }: WhyFacts, endedAt: number): Reason {
  return {
    code: 'agent_said_failed',
    sentence: `Failed at ${formatUtcTime(endedAt, now)}: the agent answered with the status "failed"`,
    since: endedAt,
    fix: { text: `Read what it said: \`show\` prints the answer.`, command: `npx postern show "#${message.number}"` },
  }
}

/** Explains a backend that did not answer until the turn was given up. */
function explainUnreachable(failure: FailedTurn): Reason | undefined {
  const { facts, turn, error, at } = failure
  const { message, agent } = facts
  if (turn.attempts.at(-1)?.outcome !== 'unavailable') return undefined
  const since = message.receivedAt
  return {
    code: agent?.use === 'webhook' ? 'webhook_down' : 'agent_unavailable',
    sentence: `Failed at ${at}: ${nameBackend(message.agent, agent)} could not be reached (${causeOf(error)}), given up after ${formatQuantity(turn.attempt, 'try', 'tries')}`,
    since,
    evidence: describeBackend(facts.agent),
    fix: { ...fixBackend(agent), text: `${fixBackend(agent).text} The sender has to send the message again.` },
  }
}

/** Explains an error of a remote agent, which has no file here to correct. */
function explainRemoteFailure({ facts, turn, error, at }: FailedTurn): Reason | undefined {
  const { message, agent } = facts
  if (!agent?.url || turn.attempts.at(-1)?.error?.file !== undefined) return undefined
  const { command } = fixBackend(agent)
  return {
    code: 'backend_failed',
    sentence: `Failed at ${at}: ${nameBackend(message.agent, agent)} failed (${quoteLine(error) || 'without a message'})`,
    since: turn.endedAt ?? message.receivedAt,
    fix: {
      text: `See what answers at ${agent.url}. The sender was told that it failed, with the reference ${message.correlationId}.`,
      command,
    },
  }
}

/** Explains an error that the agent threw, with its file if the stack names one. */
function explainThrownError(failure: FailedTurn): Reason {
  const { facts, turn, error, at } = failure
  const { message } = facts
  const thrownError = turn.attempts.at(-1)?.error
  const position = formatErrorPosition(thrownError)
  const name = thrownError && thrownError.name !== 'Error' ? `${thrownError.name}: ` : ''
  return {
    code: 'agent_threw',
    sentence: `Failed at ${at}: agent "${message.agent}" threw an error${position} (${name}${quoteLine(error) || 'without a message'})`,
    since: turn.endedAt ?? message.receivedAt,
    evidence: describeBackend(facts.agent),
    fix: {
      text: `Correct ${position ? `the agent${position}` : `the agent; the log has the stack under ${message.correlationId}`}. The sender was told that it failed, with the reference ${message.correlationId}.`,
    },
  }
}

/** Explains a turn that ended without an answer and without an error. */
export const silentTurn: Rule<WhyFacts> = ({ message, turn, agent, now }) => {
  if (turn?.state !== 'ignored' || turn.endedAt === undefined) return undefined
  const endTime = formatUtcTime(turn.endedAt, now)
  const since = turn.endedAt
  if (turn.error !== undefined) {
    return {
      code: 'interrupted',
      sentence: `Not answered: ${quoteLine(turn.error)} at ${endTime}, as agents.${message.agent}.queue "interrupt" asks`,
      since,
      fix: {
        text: 'Look at the newer message: the agent answered that one.',
        command: `npx postern why ${message.recipient}`,
      },
    }
  }
  const attempt = turn.attempts.at(-1)
  const isOld = attempt?.reason === undefined && agent && !agent.receives.includes(message.kind)
  if (attempt?.reason === 'not_received' || isOld) {
    return {
      code: 'not_received',
      sentence: `Not answered: agent "${message.agent}" does not get a ${message.kind} (agents.${message.agent}.receives), at ${endTime}`,
      since,
      fix: { text: `Add "${message.kind}" to agents.${message.agent}.receives if the agent should get it.` },
    }
  }
  const outcomeText =
    attempt?.outcome === 'empty_answer' ? 'gave an empty answer' : 'took the message and gave no answer'
  return {
    code: 'agent_silent',
    sentence: `Not answered: agent "${message.agent}" ${outcomeText}, at ${endTime}`,
    since,
    fix: {
      text: 'An agent that returns nothing, or an empty text, answers nothing. Let it return what it wants to say.',
    },
  }
}
