import { createActionList, settleFiles } from '../actions/plan-actions.ts'
import { LeaseLost, TurnAborted, Unavailable } from '../format/errors.ts'
import type { PartialResponse } from '../message/response.ts'
import { answerCommand } from '../people/answer-command.ts'
import { findTurnPerson } from '../people/person-turn.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import { isoTime, makeId } from '../ports/platform/platform.ts'
import type { AgentNote } from '../ports/records/note.ts'
import { readAbortKind } from '../ports/records/note.ts'
import type { Answer, PlannedAction, Turn } from '../ports/records/work.ts'
import type { TurnOutcome } from '../ports/trace/trace.ts'
import { createRequirementList, settleRequirements } from '../requirements/requirements.ts'
import type { AnswerDraft } from './answer.ts'
import { planAnswer, planFailure, planTurnActions } from './answer.ts'
import { callAgent, createAgentState } from './call-agent.ts'
import { planLinkedCopy, planOperatorNotices } from './extra-mails.ts'
import { keepStreamed } from './notes/streamed-answer.ts'
import type { TurnNotes } from './notes/turn-notes.ts'
import { noteSynthesis, runWithNotes } from './notes/turn-notes.ts'
import { describeFailure, settlementFor } from './retry.ts'
import { TurnTrace } from './trace/turn-trace.ts'

/** history → agent.handle → commit. `stop` aborts when the process shuts down: the turn is then given back. */
export async function workTurn(turn: Turn, turnContext: TurnContext, stop: AbortSignal): Promise<void> {
  const { results, platform, retry } = turnContext
  const trace = new TurnTrace(turn, platform)
  const ending = listenForEnd(turn, turnContext)
  let draft: AnswerDraft | undefined
  try {
    // Who admitted its message hears of that in the same instant, and then follows the turn: they must not miss its first pieces.
    await new Promise(setImmediate)
    draft = turn.token > 1 ? await resumeDraft(turn, turnContext) : { id: makeId(platform) }
    const { answer, outcome } = await answerTurn(turn, { turnContext, draft, stop, ended: ending.signal, trace })
    const attempt = trace.end(outcome, draft.usage ?? answer.response?.usage)
    await commitAnswer(turn, { ...answer, attempt }, { turnContext, trace })
    platform.log.info(
      { correlation_id: turn.correlationId, message: turn.message, agent: turn.agent, status: answer.response?.status },
      'turn committed',
    )
  } catch (error) {
    if (stop.aborted) {
      const dueAt = platform.now()
      return results.release(turn, { dueAt, uncounted: true, attempt: trace.end('shut_down', draft?.usage) })
    }
    if (error instanceof LeaseLost) await keepLost(turn, turnContext, { draft, trace })
    if (!(error instanceof Unavailable)) throw error
    const failed = {
      error,
      attempt: turn.attempt,
      queuedAt: Date.parse(turn.content.received_at),
      now: platform.now(),
      chance: (platform.randomBytes(1)[0] ?? 0) / 256,
    }
    const settlement = settlementFor(failed, retry)
    trace.failed(error)
    if (settlement.state !== 'later') return commitFailure(turn, turnContext, { error, draft, trace })
    platform.log.warn(
      { correlation_id: turn.correlationId, agent: turn.agent, err: error, due_at: isoTime(settlement.dueAt) },
      'agent unavailable',
    )
    const attempt = trace.end('unavailable', draft?.usage, settlement.dueAt)
    await results.release(turn, { dueAt: settlement.dueAt, error: settlement.error, attempt })
  } finally {
    ending.unlisten()
    if (draft?.usage) turnContext.countUsage?.(turn.agent, draft.usage)
  }
}

/** A caller may cancel a turn as soon as it is leased, and tells it once. `signal` aborts with a `TurnAborted`. */
function listenForEnd({ message }: Turn, { store }: TurnContext) {
  const ended = new AbortController()
  const unlisten = store.listen(`message:${message}`, notice => {
    const kind = readAbortKind(notice)
    if (kind) ended.abort(new TurnAborted(kind))
  })
  return { signal: ended.signal, unlisten }
}

/** What cannot be stored (an answer that is not JSON) is the agent's failure, not a reason to run it again. */
async function commitAnswer(
  turn: Turn,
  answer: Answer,
  { turnContext, trace }: Pick<Run, 'turnContext' | 'trace'>,
): Promise<void> {
  try {
    await turnContext.results.commit(turn, answer)
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof Unavailable) throw error
    const { correlationId, agent } = turn
    turnContext.platform.log.error({ correlation_id: correlationId, agent, err: error }, 'answer cannot be stored')
    const draft = { ...(await resumeDraft(turn, turnContext)), usage: answer.response?.usage }
    trace.failed(error)
    const failure = planFailure(turn, turnContext, 'the answer cannot be stored', draft)
    await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', draft.usage) })
  }
}

interface AnsweredAttempt {
  readonly answer: Answer
  readonly outcome: TurnOutcome
}

async function answerTurn(turn: Turn, run: Omit<Run, 'running' | 'notes'>): Promise<AnsweredAttempt> {
  const { turnContext, draft, stop, trace } = run
  const running = turnContext.findAgent(turn.agent)
  if (!running || turn.crashes >= turnContext.maxCrashes) {
    const reason = running ? `gave up after ${turnContext.maxCrashes} crashes` : 'there is no such agent any more'
    trace.failed(new Error(reason))
    return { answer: planFailure(turn, turnContext, reason, draft), outcome: 'failed' }
  }
  try {
    const answer = await runWithNotes(turn, turnContext, notes => runAgent(turn, { ...run, running, notes }))
    return { answer, outcome: outcomeOf(answer) }
  } catch (error) {
    if (stop.aborted || error instanceof Unavailable) throw error
    const about = { correlation_id: turn.correlationId, agent: turn.agent }
    // The store has ended it, and will take no answer.
    if (error instanceof TurnAborted) turnContext.platform.log.info({ ...about, reason: error.kind }, 'turn broken off')
    else turnContext.platform.log.error({ ...about, err: error }, 'agent failed')
    trace.failed(error)
    const reason = error instanceof Error ? error.message : 'agent failed'
    return { answer: planFailure(turn, turnContext, reason, draft), outcome: outcomeOfFault(error) }
  }
}

function outcomeOf({ response }: Answer): TurnOutcome {
  if (!response) return 'silent'
  return response.status === 'failed' ? 'failed' : 'answered'
}

function outcomeOfFault(error: unknown): TurnOutcome {
  if (error instanceof TurnAborted) return error.kind === 'shutting_down' ? 'shut_down' : error.kind
  return error instanceof DOMException && error.name === 'TimeoutError' ? 'timed_out' : 'failed'
}

/** The store has ended the turn, or has given it to another worker: what was heard and how the attempt went is kept beside it. */
async function keepLost(turn: Turn, turnContext: TurnContext, { draft, trace }: LostTurn): Promise<void> {
  await keepStreamed(turn, turnContext, draft)
  await turnContext.store.noteAttempt(turn, trace.endLost(draft?.usage))
}

interface LostTurn {
  readonly draft: AnswerDraft | undefined
  readonly trace: TurnTrace
}

interface Run {
  readonly turnContext: TurnContext
  readonly running: RunningAgent
  readonly draft: AnswerDraft
  readonly trace: TurnTrace
  readonly stop: AbortSignal
  readonly ended: AbortSignal
  readonly notes: TurnNotes
}

async function runAgent(turn: Turn, run: Run): Promise<Answer> {
  const { turnContext, running, draft, notes } = run
  const mayBeLinked = running.people?.link === true
  const command = mayBeLinked ? await answerCommand(turn, turnContext, running) : undefined
  if (command)
    return {
      ...planAnswer(turn, turnContext, command.partial, draft),
      ...withActions(command.acts),
      isGatewayReply: true,
    }
  const known = mayBeLinked ? await findTurnPerson(turn, turnContext, running) : undefined
  const state = createAgentState(turn, turnContext.store)
  const acts = createActionList(turnContext.platform)
  const requiring = createRequirementList(turnContext.requirements, turnContext.platform)
  const answer = await callAgent(turn, { ...run, state, acts, requiring, known })
  for (const note of answer?.notes ?? []) notes.note(note as AgentNote)
  noteSynthesis(turn, answer, running.history, notes)
  const { partial: settled, requirements } = settleRequirements(turn, answer, { turnContext, issued: requiring.issued })
  const partial = settled?.parts
    ? { ...settled, parts: [...(await settleFiles(settled.parts, turnContext.store))] }
    : settled
  const actions = [...acts.done, ...(partial?.acts ?? [])]
  const done = actions.length > 0 ? await planTurnActions(turn, turnContext, actions) : []
  const said = saysSomething(partial) ? planAnswer(turn, turnContext, partial, draft) : { deliveries: [] }
  const copies = mayBeLinked ? await planLinkedCopy(turn, said, turnContext, running) : []
  const notices = requirements.length > 0 ? planOperatorNotices(requirements, turn, turnContext) : []
  const planned = [...done, ...notices, ...copies]
  return {
    ...said,
    ...(requirements.length > 0 && { requirements }),
    ...withActions(planned),
    state: state.changed(),
    personState: known?.changed(),
  }
}

/** What was done and spent alone is no answer; neither is it when it came in a stream, which always has parts. */
function saysSomething(partial: PartialResponse | undefined): partial is PartialResponse {
  if (!partial?.acts && !partial?.notes && !partial?.usage) return partial !== undefined
  return (partial.parts?.length ?? 0) > 0 || partial.status !== undefined
}

function withActions(acts: readonly PlannedAction[]): Pick<Answer, 'acts'> {
  return acts.length > 0 ? { acts } : {}
}

/** A turn that has been worked may have said something already; in the first attempt nobody has. */
async function resumeDraft(turn: Turn, { store, platform }: TurnContext): Promise<AnswerDraft> {
  const earlier = await store.findAnswer(turn.message)
  if (!earlier) return { id: makeId(platform) }
  const { response, rendering } = earlier
  return { id: response.id, said: { createdAt: response.created_at, rendering } }
}

interface FailedTurn {
  readonly error: unknown
  /** What was heard of it as it came is kept. */
  readonly draft: AnswerDraft | undefined
  readonly trace: TurnTrace
}

async function commitFailure(turn: Turn, turnContext: TurnContext, failed: FailedTurn): Promise<void> {
  const { error, draft, trace } = failed
  const begun = draft ?? (await resumeDraft(turn, turnContext))
  const failure = planFailure(turn, turnContext, describeFailure(error), begun)
  await turnContext.results.commit(turn, { ...failure, attempt: trace.end('failed', begun.usage) })
}
