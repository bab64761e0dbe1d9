import { createActList } from './act-list.ts'
import { answerCommand } from './answer-command.ts'
import { callAgent, createAgentState } from './call-agent.ts'
import { createDemandList } from './demand-list.ts'
import { LeaseLost, TurnAborted, Unavailable } from './errors.ts'
import { keepHeard } from './heard-answer.ts'
import { planLinkedCopy } from './linked-copy.ts'
import type { AgentNote } from './note.ts'
import { planOperatorNotices } from './operator-notice.ts'
import { findTurnPerson } from './person-turn.ts'
import { noteSynthesis } from './phase.ts'
import type { AnswerDraft } from './plan-answer.ts'
import { planAnswer, planFailure, planTurnActs } from './plan-answer.ts'
import type { PartialResponse } from './response.ts'
import { describeFailure, settlementFor } from './retry.ts'
import { settleDemands } from './settle-demands.ts'
import { settleFiles } from './settle-files.ts'
import type { TurnNotes } from './turn-notes.ts'
import { runWithNotes } from './turn-notes.ts'
import type { Answer, PlannedAct, Turn } from './work.ts'
import type { RunningAgent, Working } from './working.ts'
import { isoTime, randomHex } from './world.ts'

/** history → agent.handle → commit. `stop` aborts when the process shuts down: the turn is then given back. */
export async function workTurn(turn: Turn, working: Working, stop: AbortSignal): Promise<void> {
  const { desk, world, retry } = working
  let draft: AnswerDraft | undefined
  try {
    draft = await startDraft(turn, working)
    const answer = await answerTurn(turn, { working, draft, stop })
    await commitAnswer(turn, answer, working)
    world.log.info(
      { correlation_id: turn.correlationId, message: turn.message, agent: turn.agent, status: answer.response?.status },
      'turn committed',
    )
  } catch (error) {
    if (stop.aborted) return desk.release(turn, { dueAt: world.now(), uncounted: true })
    if (error instanceof LeaseLost) await keepHeard(turn, working, draft)
    if (!(error instanceof Unavailable)) throw error
    const failed = {
      error,
      attempt: turn.attempt,
      queuedAt: Date.parse(turn.content.received_at),
      now: world.now(),
      chance: (world.randomBytes(1)[0] ?? 0) / 256,
    }
    const settlement = settlementFor(failed, retry)
    if (settlement.state !== 'later') return commitFailure(turn, working, { error, draft })
    world.log.warn(
      { correlation_id: turn.correlationId, agent: turn.agent, err: error, due_at: isoTime(settlement.dueAt) },
      'agent unavailable',
    )
    await desk.release(turn, { dueAt: settlement.dueAt, error: settlement.error })
  } finally {
    if (draft?.usage) working.countUsage?.(turn.agent, draft.usage)
  }
}

/** What cannot be stored (an answer that is not JSON) is the agent's failure, not a reason to run it again. */
async function commitAnswer(turn: Turn, answer: Answer, working: Working): Promise<void> {
  try {
    await working.desk.commit(turn, answer)
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof Unavailable) throw error
    const { correlationId, agent } = turn
    working.world.log.error({ correlation_id: correlationId, agent, err: error }, 'answer cannot be stored')
    const draft = { ...(await resumeDraft(turn, working)), usage: answer.response?.usage }
    await working.desk.commit(turn, planFailure(turn, working, 'the answer cannot be stored', draft))
  }
}

async function answerTurn(turn: Turn, { working, draft, stop }: Omit<Run, 'running' | 'notes'>): Promise<Answer> {
  const running = working.findAgent(turn.agent)
  if (!running || turn.crashes >= working.maxCrashes) {
    const reason = running ? `gave up after ${working.maxCrashes} crashes` : 'there is no such agent any more'
    return planFailure(turn, working, reason, draft)
  }
  try {
    return await runWithNotes(turn, working, notes => runAgent(turn, { working, running, draft, stop, notes }))
  } catch (error) {
    if (stop.aborted || error instanceof Unavailable) throw error
    const about = { correlation_id: turn.correlationId, agent: turn.agent }
    // The desk has ended it, and will take no answer.
    if (error instanceof TurnAborted) working.world.log.info({ ...about, reason: error.kind }, 'turn broken off')
    else working.world.log.error({ ...about, err: error }, 'agent failed')
    return planFailure(turn, working, error instanceof Error ? error.message : 'agent failed', draft)
  }
}

interface Run {
  readonly working: Working
  readonly running: RunningAgent
  readonly draft: AnswerDraft
  readonly stop: AbortSignal
  readonly notes: TurnNotes
}

async function runAgent(turn: Turn, { working, running, draft, stop, notes }: Run): Promise<Answer> {
  const command = await answerCommand(turn, working, running)
  if (command) return { ...planAnswer(turn, working, command.partial, draft), ...withActs(command.acts), isAside: true }
  const known = await findTurnPerson(turn, working, running)
  const state = createAgentState(turn, working.desk)
  const acts = createActList(working.world)
  const demanding = createDemandList(working.demands, working.world)
  const answer = await callAgent(turn, { working, running, state, acts, demanding, notes, known, draft, stop })
  for (const note of answer?.notes ?? []) notes.note(note as AgentNote)
  noteSynthesis(turn, answer, running.history, notes)
  const { partial: settled, demands } = settleDemands(turn, answer, { working, issued: demanding.issued })
  const partial = settled?.parts
    ? { ...settled, parts: [...(await settleFiles(settled.parts, working.desk))] }
    : settled
  const done = await planTurnActs(turn, working, [...acts.done, ...(partial?.acts ?? [])])
  const said = saysSomething(partial) ? planAnswer(turn, working, partial, draft) : { deliveries: [] }
  const copies = await planLinkedCopy(turn, said, working, running)
  const planned = [...done, ...planOperatorNotices(demands, turn, working), ...copies]
  return {
    ...said,
    ...(demands.length > 0 && { demands }),
    ...withActs(planned),
    state: state.changed(),
    personState: known?.changed(),
  }
}

/** What was done and spent alone is no answer; neither is it when it came in a stream, which always has parts. */
function saysSomething(partial: PartialResponse | undefined): partial is PartialResponse {
  if (!partial?.acts && !partial?.notes && !partial?.usage) return partial !== undefined
  return (partial.parts?.length ?? 0) > 0 || partial.status !== undefined
}

function withActs(acts: readonly PlannedAct[]): Pick<Answer, 'acts'> {
  return acts.length > 0 ? { acts } : {}
}

/** Nobody has said anything in a turn that is taken up for the first time. */
async function startDraft(turn: Turn, working: Working): Promise<AnswerDraft> {
  return turn.token > 1 ? resumeDraft(turn, working) : { id: randomHex(working.world, 16) }
}

/** A turn that has been worked may have said something already. */
async function resumeDraft(turn: Turn, { desk, world }: Working): Promise<AnswerDraft> {
  const earlier = await desk.findAnswer(turn.message)
  if (!earlier) return { id: randomHex(world, 16) }
  const { response, rendering } = earlier
  return { id: response.id, said: { createdAt: response.created_at, rendering } }
}

interface FailedTurn {
  readonly error: unknown
  /** What was heard of it as it came is kept. */
  readonly draft: AnswerDraft | undefined
}

async function commitFailure(turn: Turn, working: Working, { error, draft }: FailedTurn): Promise<void> {
  const begun = draft ?? (await resumeDraft(turn, working))
  await working.desk.commit(turn, planFailure(turn, working, describeFailure(error), begun))
}
