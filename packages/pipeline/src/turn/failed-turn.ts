// Ends a turn that has failed: releases it, retries it later, or answers with the failure.
import type { TurnOutcome, TurnReason } from '@postern/message'
import { isoTime, LeaseLost, makeId, TurnAborted, Unavailable } from '@postern/message'
import type { Answer } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { describeFailure } from '../retry/describe-failure.ts'
import { settleFailedAttempt } from '../retry/retry.ts'
import type { AnswerDraft } from './answer/plan-answer.ts'
import { planFailure } from './answer/plan-answer.ts'
import { storeCanceledAnswer } from './notes/streamed-answer.ts'
import { clipError } from './trace/agent-error.ts'
import { logFieldsOf } from './trace/log-fields.ts'
import type { TurnTrace } from './trace/turn-trace.ts'

interface FailedTurn {
  readonly turnContext: TurnContext
  /** The draft, with the parts that arrived before the failure. */
  readonly draft: AnswerDraft | undefined
  readonly trace: TurnTrace
  /** Aborts when the process shuts down. */
  readonly stopSignal: AbortSignal
  /** Aborts when the store has ended the turn. */
  readonly endSignal: AbortSignal
}

/**
 * Ends a turn that has thrown: releases it, retries it later, or answers it as failed.
 * @throws `error` if only the expiry of the lease helps
 */
export async function endFailedTurn(turn: Turn, error: unknown, failedTurn: FailedTurn): Promise<void> {
  const { turnContext, draft, trace, stopSignal, endSignal } = failedTurn
  const { results, system, retry } = turnContext
  if (stopSignal.aborted) {
    const dueAt = system.now()
    return results.release(turn, { dueAt, isUncounted: true, attempt: trace.end('shut_down', draft?.usage) })
  }
  if (error instanceof LeaseLost) {
    await recordLostTurn(turn, failedTurn)
    if (endSignal.aborted) return logAbortedTurn(turn, endSignal.reason, failedTurn)
  }
  if (!(error instanceof Unavailable)) throw error
  const failedTry = {
    error,
    attempt: turn.attempt,
    firstAttemptAt: turn.firstAttemptAt,
    now: system.now(),
    random: (system.randomBytes(1)[0] ?? 0) / 256,
  }
  const settlement = settleFailedAttempt(failedTry, retry)
  trace.recordFailure(error)
  if (settlement.state !== 'later') return commitFailure(turn, error, failedTurn)
  system.log.warn({ ...logFieldsOf(turn), err: error, due_at: isoTime(settlement.dueAt) }, 'agent unavailable')
  const attempt = trace.end('unavailable', draft?.usage, settlement.dueAt)
  await results.release(turn, { dueAt: settlement.dueAt, error: settlement.error, attempt })
}

/** Logs an aborted turn as information and not as an error, because the abort was intended. */
function logAbortedTurn(turn: Turn, reason: unknown, { turnContext }: Pick<FailedTurn, 'turnContext'>): void {
  const { kind } = reason as TurnAborted
  turnContext.system.log.info({ ...logFieldsOf(turn), message: turn.message, reason: kind }, 'turn aborted')
}

/** Records the streamed answer and the attempt of a turn that the store has ended or that another worker has leased. */
async function recordLostTurn(turn: Turn, { turnContext, draft, trace }: FailedTurn): Promise<void> {
  await storeCanceledAnswer(turn, turnContext, draft)
  await turnContext.store.noteAttempt(turn, trace.endLost(draft?.usage))
}

async function commitFailure(turn: Turn, error: unknown, { turnContext, draft, trace }: FailedTurn): Promise<void> {
  const existingDraft = draft ?? (await resumeDraft(turn, turnContext))
  const failure = planFailure(turn, turnContext, describeFailure(error), existingDraft)
  await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', existingDraft.usage) })
}

/** Commits the failure of an answer that cannot be stored because it is not JSON. The agent caused the error, so a retry would not help. */
export async function commitUnstorable(
  turn: Turn,
  answer: Answer,
  error: unknown,
  { turnContext, trace }: Pick<FailedTurn, 'turnContext' | 'trace'>,
): Promise<void> {
  if (error instanceof LeaseLost || error instanceof Unavailable) throw error
  turnContext.system.log.error({ ...logFieldsOf(turn), err: error }, 'answer cannot be stored')
  const draft = { ...(await resumeDraft(turn, turnContext)), usage: answer.response?.usage }
  trace.recordFailure(error, 'answer_unstorable')
  const failure = planFailure(turn, turnContext, 'the answer cannot be stored', draft)
  await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', draft.usage) })
}

/** An attempt together with its answer. */
export interface AnsweredAttempt {
  readonly answer: Answer
  readonly outcome: TurnOutcome
}

interface SkippedCallReason {
  readonly code: TurnReason
  readonly sentence: string
}

/** Answers a turn as failed without calling its agent. */
export function answerWithoutAgent(
  turn: Turn,
  { code, sentence }: SkippedCallReason,
  failedTurn: FailedTurn,
): AnsweredAttempt {
  const { turnContext, draft, trace } = failedTurn
  trace.recordFailure(new Error(sentence), code)
  return { answer: planFailure(turn, turnContext, sentence, draft), outcome: 'failed' }
}

/** Answers a turn whose agent has thrown. @throws `error` if the turn has to be retried */
export function answerAgentError(turn: Turn, error: unknown, failedTurn: FailedTurn): AnsweredAttempt {
  const { turnContext, draft, trace, stopSignal } = failedTurn
  if (stopSignal.aborted || error instanceof Unavailable) throw error
  const fields = logFieldsOf(turn)
  const clippedError = clipError(error)
  // After a `TurnAborted` the store refuses the answer because the lease is lost, and that is logged instead.
  if (!(error instanceof TurnAborted)) turnContext.system.log.error({ ...fields, err: clippedError }, 'agent failed')
  trace.recordFailure(error)
  const reason = clippedError instanceof Error ? clippedError.message : 'agent failed'
  return { answer: planFailure(turn, turnContext, reason, draft), outcome: outcomeOfError(error) }
}

function outcomeOfError(error: unknown): TurnOutcome {
  if (error instanceof TurnAborted) return error.kind === 'shutting_down' ? 'shut_down' : error.kind
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timed_out' : 'failed'
}

/** Opens the draft of a turn. A retried turn may already have an interim response; a first attempt cannot. */
export async function resumeDraft(turn: Turn, { store, system }: TurnContext): Promise<AnswerDraft> {
  const earlierAnswer = await store.findAnswer(turn.message)
  if (!earlierAnswer) return { id: makeId(system) }
  const { response, rendering } = earlierAnswer
  return { id: response.id, interim: { createdAt: response.created_at, rendering } }
}
