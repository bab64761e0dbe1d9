// Explains messages that wait for an earlier turn, a worker, an agent or more messages.
import type { WhyAgent, WhyFacts } from '../facts.ts'
import type { Evidence, Fix, Reason, Rule } from '../reason.ts'
import { causeOf, formatQuantity, formatSpan, formatUtcTime } from '../reason.ts'

/** An open turn with the facts of its message. */
interface OpenTurn {
  readonly facts: WhyFacts
  readonly turn: NonNullable<WhyFacts['turn']>
}

/** Explains a message whose turn has not ended. */
export const openTurn: Rule<WhyFacts> = facts => {
  const { turn } = facts
  if (!turn || turn.endedAt !== undefined) return undefined
  const subject = { facts, turn }
  return (
    explainQueue(subject) ??
    explainLease(subject) ??
    explainRetry(subject) ??
    explainGathering(subject) ??
    explainDue(subject)
  )
}

/** Explains a turn that waits for an earlier one of its thread. */
function explainQueue({ facts: { message, now }, turn }: OpenTurn): Reason | undefined {
  const { ahead } = turn
  if (!ahead) return undefined
  const since = message.receivedAt
  const turnAheadState = ahead.isLeased
    ? 'is being worked on'
    : ahead.error !== undefined
      ? `is tried again at ${formatUtcTime(ahead.dueAt, now)} (${causeOf(ahead.error)})`
      : 'waits for a free worker'
  return {
    code: 'queued',
    sentence: `Not answered yet: it has waited since ${formatUtcTime(since, now)} behind #${ahead.message} of the same conversation, which ${turnAheadState}`,
    since,
    evidence: [{ at: ahead.dueAt, fact: `#${ahead.message} is at the head of the conversation` }],
    fix: {
      text: `See why #${ahead.message} takes its time. With agents.${message.agent}.queue set to "merge" or "interrupt" newer messages of one sender do not wait.`,
      command: `npx postern why "#${ahead.message}"`,
    },
  }
}

function explainLease({ facts: { message, now }, turn }: OpenTurn): Reason | undefined {
  const { leaseOwner, dueAt = now } = turn
  if (leaseOwner === undefined) return undefined
  const since = message.receivedAt
  const evidence = [{ fact: `attempt ${turn.attempt}, held by ${leaseOwner} until ${formatUtcTime(dueAt, now)}` }]
  if (dueAt < now) {
    return {
      code: 'gateway_gone',
      sentence: `Not answered yet: the gateway that worked on it (${leaseOwner}) is gone; its lease ran out at ${formatUtcTime(dueAt, now)} and the next free worker takes it up`,
      since: dueAt,
      evidence,
      fix: { text: 'See that a gateway runs on this database.', command: 'npx postern doctor' },
    }
  }
  const attemptNote = turn.crashes > 1 ? `, in try ${turn.crashes} because a gateway ended in the middle of it` : ''
  const activity = turn.isWaiting ? 'waits for another agent that it asked' : 'is working on it'
  return {
    code: turn.isWaiting ? 'waiting_for_agent' : 'working',
    sentence: `Not answered yet: the agent ${activity}, ${formatSpan(now - since)} after it came at ${formatUtcTime(since, now)}${attemptNote}`,
    since,
    evidence,
    fix: { text: `Wait: after agents.${message.agent}.deadline the turn ends.` },
  }
}

/** Explains a turn that will be retried because its agent did not answer. */
function explainRetry({ facts, turn }: OpenTurn): Reason | undefined {
  const { error, dueAt } = turn
  if (error === undefined || dueAt === undefined) return undefined
  const { message, agent, now } = facts
  const since = message.receivedAt
  const retryNote = dueAt > now ? `next try at ${formatUtcTime(dueAt, now)}` : 'the next try is due now'
  const tries = `${formatQuantity(turn.attempt, 'try', 'tries')} since ${formatUtcTime(since, now)}`
  return {
    code: agent?.use === 'webhook' ? 'webhook_down' : 'agent_unavailable',
    sentence: `Not answered yet: ${nameBackend(message.agent, agent)} cannot be reached (${causeOf(error)}), ${tries}; ${retryNote}`,
    since,
    evidence: [...describeBackend(agent), { at: dueAt, fact: 'next try' }],
    fix: fixBackend(agent),
  }
}

/** Names the backend of an agent. */
export function nameBackend(name: string, agent: WhyAgent | undefined): string {
  const label = agent?.use === 'webhook' ? 'webhook' : `"${agent?.use ?? 'unknown'}" backend`
  return `the ${label} of agent "${name}"${agent?.url ? ` at ${agent.url}` : ''}`
}

export function describeBackend(agent: WhyAgent | undefined): readonly Evidence[] {
  return agent?.url ? [{ fact: `the agent is called at ${agent.url}` }] : []
}

export function fixBackend(agent: WhyAgent | undefined): Fix {
  if (!agent?.url) return { text: 'See what the agent depends on; the log has the full error.' }
  return {
    text: `Start what listens at ${agent.url}; the message is then answered by itself.`,
    command: `curl -i ${quoteArgument(agent.url)}`,
  }
}

function quoteArgument(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`
}

/** Explains a turn that waits for further messages of its sender. */
function explainGathering({ facts: { message, now }, turn }: OpenTurn): Reason | undefined {
  if (turn.readyAt === undefined || turn.readyAt <= now) return undefined
  return {
    code: 'gathering',
    sentence: `Not answered yet: it waits until ${formatUtcTime(turn.readyAt, now)} for further messages of the sender, as agents.${message.agent}.queue asks`,
    since: message.receivedAt,
  }
}

function explainDue({ facts: { message, now }, turn }: OpenTurn): Reason {
  const since = Math.max(message.receivedAt, turn.dueAt ?? message.receivedAt)
  return {
    code: 'waiting_for_worker',
    sentence: `Not answered yet: it has been due since ${formatUtcTime(since, now)} (${formatSpan(now - since)}) and no worker has taken it`,
    since,
    fix: {
      text: 'Slow agents may hold all workers, or no gateway works on this database.',
      command: 'npx postern doctor',
    },
  }
}
