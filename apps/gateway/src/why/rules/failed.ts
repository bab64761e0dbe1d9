import type { WhyFacts } from '../facts.ts'
import type { FixWords, Reason, Rule } from '../reason.ts'
import { causeOf, quoteLine, sayCount, sayTime, writeFix } from '../reason.ts'
import { describeBackend, fixBackend, nameBackend } from './waiting.ts'

/** A turn that failed, and when. */
interface FailedTurn {
  readonly facts: WhyFacts
  readonly turn: NonNullable<WhyFacts['turn']>
  readonly error: string
  readonly at: string
}

interface FailureCase extends FixWords<FailedTurn> {
  readonly code: string
  readonly pattern: RegExp
  why(failed: FailedTurn): string
}

/** By what the turn ended with, as `core` writes it. */
const failures: readonly FailureCase[] = [
  {
    code: 'deadline',
    pattern: /^the agent took too long$/,
    why: ({ facts: { message, agent } }) =>
      `the agent took longer than agents.${message.agent}.deadline${agent ? ` (${agent.deadline})` : ''}`,
    fix: ({ facts: { message } }) =>
      `Make the agent faster, let it stop when its signal aborts, or raise agents.${message.agent}.deadline.`,
  },
  {
    code: 'agent_removed',
    pattern: /^there is no such agent any more$/,
    why: ({ facts: { message } }) => `the configuration has no agent "${message.agent}" any more`,
    fix: ({ facts: { message } }) => `Put agents.${message.agent} back, or tell its correspondents.`,
  },
  {
    code: 'agent_crashes',
    pattern: /^gave up after \d+ crashes$/,
    why: ({ turn }) =>
      `the gateway ended ${sayCount(turn.attempt, 'time')} in the middle of it, so it is not tried again`,
    fix: ({ facts: { message } }) =>
      `The agent may end the process (out of memory, process.exit): look at the log of agent "${message.agent}".`,
  },
  {
    code: 'answer_unstorable',
    pattern: /^the answer cannot be stored$/,
    why: () => 'the agent gave an answer that cannot be stored, such as one that is not JSON',
    fix: 'Let the agent answer with text or parts; the log has the error.',
  },
]

/** Turns that ended without what the agent was to say. */
export const failedTurn: Rule<WhyFacts> = facts => {
  const { turn, now } = facts
  if (turn?.state !== 'failed' || turn.endedAt === undefined) return undefined
  if (turn.error === undefined) return refusedByAgent(facts, turn.endedAt)
  const failure = { facts, turn, error: turn.error, at: sayTime(turn.endedAt, now) }
  const found = failures.find(({ pattern }) => pattern.test(failure.error))
  if (!found) return unreachable(failure) ?? threw(failure)
  return {
    code: found.code,
    sentence: `Failed at ${failure.at}: ${found.why(failure)}`,
    since: turn.endedAt,
    evidence: describeBackend(facts.agent),
    fix: writeFix(found, failure),
  }
}

/** The agent itself says that it failed. */
function refusedByAgent({ message, now }: WhyFacts, endedAt: number): Reason {
  return {
    code: 'agent_said_failed',
    sentence: `Failed at ${sayTime(endedAt, now)}: the agent answered with the status "failed"`,
    since: endedAt,
    fix: { text: `Read what it said: \`show\` prints the answer.`, command: `npx postern show "#${message.number}"` },
  }
}

/** What the agent depends on was away until its time was over. */
function unreachable(failure: FailedTurn): Reason | undefined {
  const { facts, turn, error, at } = failure
  const { message, agent } = facts
  if (turn.attempts.at(-1)?.outcome !== 'unavailable') return undefined
  const since = message.receivedAt
  return {
    code: agent?.use === 'webhook' ? 'webhook_down' : 'agent_unavailable',
    sentence: `Failed at ${at}: ${nameBackend(message.agent, agent)} could not be reached (${causeOf(error)}), given up after ${sayCount(turn.attempt, 'try', 'tries')}`,
    since,
    evidence: describeBackend(facts.agent),
    fix: { ...fixBackend(agent), text: `${fixBackend(agent).text} What was given up needs to be sent again.` },
  }
}

/** The stack may name the file; the message alone may not. */
function threw(failure: FailedTurn): Reason {
  const { facts, turn, error, at } = failure
  const { message } = facts
  const fault = turn.attempts.at(-1)?.error
  const place = fault?.file === undefined ? '' : ` at ${fault.file}${fault.line === undefined ? '' : `:${fault.line}`}`
  const name = fault && fault.name !== 'Error' ? `${fault.name}: ` : ''
  return {
    code: 'agent_threw',
    sentence: `Failed at ${at}: agent "${message.agent}" threw an error${place} (${name}${quoteLine(error) || 'without a message'})`,
    since: turn.endedAt ?? message.receivedAt,
    evidence: describeBackend(facts.agent),
    fix: {
      text: `Correct ${place ? `the agent${place}` : `the agent; the log has the stack under ${message.correlationId}`}. The sender was told that it failed, with the reference ${message.correlationId}.`,
    },
  }
}

/** Turns that ended without a word and without an error. */
export const silentTurn: Rule<WhyFacts> = ({ message, turn, agent, now }) => {
  if (turn?.state !== 'ignored' || turn.endedAt === undefined) return undefined
  const at = sayTime(turn.endedAt, now)
  const since = turn.endedAt
  if (turn.error !== undefined) {
    return {
      code: 'interrupted',
      sentence: `Not answered: ${quoteLine(turn.error)} at ${at}, as agents.${message.agent}.queue "interrupt" asks`,
      since,
      fix: {
        text: 'Look at the newer message: the agent answered that one.',
        command: `npx postern why ${message.recipient}`,
      },
    }
  }
  if (agent && !agent.receives.includes(message.kind)) {
    return {
      code: 'not_received',
      sentence: `Not answered: agent "${message.agent}" is given no ${message.kind} (agents.${message.agent}.receives), at ${at}`,
      since,
      fix: { text: `Add "${message.kind}" to agents.${message.agent}.receives when the agent shall get it.` },
    }
  }
  return {
    code: 'agent_silent',
    sentence: `Not answered: agent "${message.agent}" took it and said nothing, at ${at}`,
    since,
    fix: {
      text: 'An agent that returns nothing, or an empty text, answers nothing. Let it return what it wants to say.',
    },
  }
}
