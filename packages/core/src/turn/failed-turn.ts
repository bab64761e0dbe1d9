import { LeaseLost, TurnAborted, Unavailable } from '../format/errors.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import { isoTime, makeId } from '../ports/platform/platform.ts'
import type { Answer, Turn } from '../ports/records/work.ts'
import type { TurnOutcome } from '../ports/trace/trace.ts'
import type { AnswerDraft } from './answer.ts'
import { planFailure } from './answer.ts'
import type { TurnTrace } from './call-agent.ts'
import { keepStreamed } from './notes/streamed-answer.ts'
import { describeFailure, settlementFor } from './retry.ts'

interface FailedTurn {
  readonly turnContext: TurnContext
  /** What was heard of it as it came is kept. */
  readonly draft: AnswerDraft | undefined
  readonly trace: TurnTrace
  /** Aborts when the process shuts down. */
  readonly stop: AbortSignal
}

/**
 * What becomes of a turn that has thrown: it is given back, tried again later, or answered as failed.
 * @throws `error` where only the end of the lease helps
 */
export async function endFailedTurn(turn: Turn, error: unknown, failed: FailedTurn): Promise<void> {
  const { turnContext, draft, trace, stop } = failed
  const { results, platform, retry } = turnContext
  if (stop.aborted) {
    const dueAt = platform.now()
    return results.release(turn, { dueAt, uncounted: true, attempt: trace.end('shut_down', draft?.usage) })
  }
  if (error instanceof LeaseLost) await keepLost(turn, failed)
  if (!(error instanceof Unavailable)) throw error
  const failedTry = {
    error,
    attempt: turn.attempt,
    queuedAt: Date.parse(turn.content.received_at),
    now: platform.now(),
    chance: (platform.randomBytes(1)[0] ?? 0) / 256,
  }
  const settlement = settlementFor(failedTry, retry)
  trace.failed(error)
  if (settlement.state !== 'later') return commitFailure(turn, error, failed)
  platform.log.warn(
    { correlation_id: turn.correlationId, agent: turn.agent, err: error, due_at: isoTime(settlement.dueAt) },
    'agent unavailable',
  )
  const attempt = trace.end('unavailable', draft?.usage, settlement.dueAt)
  await results.release(turn, { dueAt: settlement.dueAt, error: settlement.error, attempt })
}

/** The store has ended the turn, or has given it to another worker: what was heard and how the attempt went is kept beside it. */
async function keepLost(turn: Turn, { turnContext, draft, trace }: FailedTurn): Promise<void> {
  await keepStreamed(turn, turnContext, draft)
  await turnContext.store.noteAttempt(turn, trace.endLost(draft?.usage))
}

async function commitFailure(turn: Turn, error: unknown, { turnContext, draft, trace }: FailedTurn): Promise<void> {
  const begun = draft ?? (await resumeDraft(turn, turnContext))
  const failure = planFailure(turn, turnContext, describeFailure(error), begun)
  await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', begun.usage) })
}

/** What cannot be stored (an answer that is not JSON) is the agent's failure, not a reason to run it again. */
export async function commitUnstorable(
  turn: Turn,
  answer: Answer,
  error: unknown,
  { turnContext, trace }: Pick<FailedTurn, 'turnContext' | 'trace'>,
): Promise<void> {
  if (error instanceof LeaseLost || error instanceof Unavailable) throw error
  const { correlationId, agent } = turn
  turnContext.platform.log.error({ correlation_id: correlationId, agent, err: error }, 'answer cannot be stored')
  const draft = { ...(await resumeDraft(turn, turnContext)), usage: answer.response?.usage }
  trace.failed(error)
  const failure = planFailure(turn, turnContext, 'the answer cannot be stored', draft)
  await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', draft.usage) })
}

/** An attempt that has its answer. */
export interface AnsweredAttempt {
  readonly answer: Answer
  readonly outcome: TurnOutcome
}

/** No agent is asked: `reason`. */
export function answerUnasked(turn: Turn, reason: string, failed: FailedTurn): AnsweredAttempt {
  const { turnContext, draft, trace } = failed
  trace.failed(new Error(reason))
  return { answer: planFailure(turn, turnContext, reason, draft), outcome: 'failed' }
}

/** The agent has thrown. @throws `error` when the turn is to be tried again */
export function answerFault(turn: Turn, error: unknown, failed: FailedTurn): AnsweredAttempt {
  const { turnContext, draft, trace, stop } = failed
  if (stop.aborted || error instanceof Unavailable) throw error
  const about = { correlation_id: turn.correlationId, agent: turn.agent }
  // The store has ended it, and will take no answer.
  if (error instanceof TurnAborted) turnContext.platform.log.info({ ...about, reason: error.kind }, 'turn broken off')
  else turnContext.platform.log.error({ ...about, err: error }, 'agent failed')
  trace.failed(error)
  const reason = error instanceof Error ? error.message : 'agent failed'
  return { answer: planFailure(turn, turnContext, reason, draft), outcome: outcomeOfFault(error) }
}

function outcomeOfFault(error: unknown): TurnOutcome {
  if (error instanceof TurnAborted) return error.kind === 'shutting_down' ? 'shut_down' : error.kind
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timed_out' : 'failed'
}

/** A turn that has been worked may have said something already; in the first attempt nobody has. */
export async function resumeDraft(turn: Turn, { store, platform }: TurnContext): Promise<AnswerDraft> {
  const earlier = await store.findAnswer(turn.message)
  if (!earlier) return { id: makeId(platform) }
  const { response, rendering } = earlier
  return { id: response.id, said: { createdAt: response.created_at, rendering } }
}
