// Runs one turn: reads the history, calls the agent and commits its answer.
import type { Json, PartialResponse, RefusedAct, TurnOutcome } from '@postern/message'
import { makeId, StateChanged, TurnAborted, toWellFormed } from '@postern/message'
import type { ActionList } from '../actions/plan-actions.ts'
import { createActionChecker, createActionList, resolveFiles } from '../actions/plan-actions.ts'
import { findNamedPeople } from '../history/conversation-people.ts'
import { answerCommand } from '../people/answer-command.ts'
import { describeSender } from '../people/person-key.ts'
import type { TurnPerson } from '../people/person-turn.ts'
import { findAgentPerson, findTurnPerson } from '../people/person-turn.ts'
import type { AgentState } from '../ports/agent/agent-state.ts'
import { failureCodeOf } from '../ports/agent/step-recorder.ts'
import type { AgentNote, NoteNotice, StageNotice } from '../ports/records/note.ts'
import type { Answer, PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { Store } from '../ports/store/store.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import type { RequirementList, SettledAnswer } from '../requirements/requirements.ts'
import { createRequirementList, settleRequirements } from '../requirements/requirements.ts'
import type { AnswerDraft } from './answer/plan-answer.ts'
import { actingAgentOf, planAnswer, planTurnActions } from './answer/plan-answer.ts'
import { callAgent } from './call/call-agent.ts'
import type { CallDeps } from './call/call-deps.ts'
import { startTurnClock } from './call/turn-clock.ts'
import { planLinkedCopy, planOperatorNotices } from './extra-mails.ts'
import type { AnsweredAttempt } from './failed-turn.ts'
import { answerAgentError, answerWithoutAgent, commitUnstorable, endFailedTurn, resumeDraft } from './failed-turn.ts'
import { checkState } from './limits/state-size.ts'
import type { TurnNotes } from './notes/turn-notes.ts'
import { createTurnNotes, noteSynthesis } from './notes/turn-notes.ts'
import { logFieldsOf } from './trace/log-fields.ts'
import { TurnTrace } from './trace/turn-trace.ts'

/** Runs a turn: reads the history, calls `agent.handle` and commits the answer. When the process shuts down, `stopSignal` aborts, and the turn is released. */
export async function runTurn(turn: Turn, turnContext: TurnContext, stopSignal: AbortSignal): Promise<void> {
  const { results, system } = turnContext
  const trace = new TurnTrace(turn, system, step => turnContext.onStepEnded?.(turn, step))
  const endListener = listenForEnd(turn, turnContext)
  let draft: AnswerDraft | undefined
  try {
    // The code that admitted the message learns of the lease at the same moment. The wait lets it follow the turn before the first pieces. Nobody
    // follows a turn that begins before its message is durable, and a wait would be too long for its transaction.
    if (!turn.whenStored) await new Promise(setImmediate)
    draft = turn.token > 1 ? await resumeDraft(turn, turnContext) : { id: makeId(system) }
    const { answer, outcome } = await answerTurn(turn, {
      turnContext,
      draft,
      stopSignal,
      endSignal: endListener.signal,
      trace,
    })
    const answerWithAttempt = { ...answer, attempt: trace.end(outcome, draft.usage ?? answer.response?.usage) }
    turnContext.onAnswered?.(turn)
    try {
      await results.commit(turn, answerWithAttempt)
    } catch (error) {
      await commitAnew(turn, answerWithAttempt, error, { turnContext, trace, draft })
    }
    system.log.info({ ...logFieldsOf(turn), message: turn.message, status: answer.response?.status }, 'turn committed')
  } catch (error) {
    await endFailedTurn(turn, error, { turnContext, draft, trace, stopSignal, endSignal: endListener.signal })
  } finally {
    endListener.unlisten()
    if (endListener.signal.aborted) turnContext.store.notify(`message:${turn.message}`, { kind: 'left' })
    if (draft?.usage) turnContext.countUsage?.(turn.agent, draft.usage)
  }
}

/** The maximum number of repetitions of a commit. Each one means that another turn of the person has committed first. */
const maxRenewals = 100

/** Commits an answer that the store refused: with a newly computed state if another turn changed the person's state, otherwise as failed. */
async function commitAnew(
  turn: Turn,
  answer: Answer,
  error: unknown,
  { turnContext, trace, draft }: Pick<TurnRun, 'turnContext' | 'trace' | 'draft'>,
): Promise<void> {
  let currentError = error
  for (let renewals = 0; currentError instanceof StateChanged && renewals < maxRenewals; renewals += 1) {
    try {
      return await turnContext.results.commit(turn, { ...answer, personState: await draft.renewPersonState?.() })
    } catch (error) {
      currentError = error
    }
  }
  await commitUnstorable(turn, answer, currentError, { turnContext, trace })
}

/** Listens for the end of a turn. A caller may cancel it as soon as it is leased, with one notice. `signal` aborts with a `TurnAborted`. */
function listenForEnd({ message, token }: Turn, { store }: TurnContext) {
  const controller = new AbortController()
  const unlisten = store.listen(`message:${message}`, notice => {
    const kind = readAbortKind(notice)
    if (kind && !endsEarlierLease(notice, token)) controller.abort(new TurnAborted(kind))
  })
  return { signal: controller.signal, unlisten }
}

/** Returns true for the notice of an edit that ended an earlier lease of the turn. It may arrive when the turn has begun again with the new text. */
function endsEarlierLease(notice: unknown, token: number): boolean {
  const endedToken = (notice as { readonly token?: unknown } | undefined)?.token
  return typeof endedToken === 'number' && endedToken < token
}

const turnEndings: ReadonlySet<unknown> = new Set<TurnAborted['kind']>(['canceled', 'deleted', 'interrupted', 'edited'])

/** Returns the reason why the store has aborted a turn, from a notice on its topic; undefined if it has not. */
export function readAbortKind(notice: unknown): TurnAborted['kind'] | undefined {
  const kind = (notice as { readonly kind?: unknown } | undefined)?.kind
  return turnEndings.has(kind) ? (kind as TurnAborted['kind']) : undefined
}

/** Returns true if the worker has left a turn that the store had ended. By then the store has the streamed part of its answer. */
export function hasWorkerLeftTurn(notice: unknown): boolean {
  return (notice as { readonly kind?: unknown } | undefined)?.kind === 'left'
}

/** Returns true if a notice reports a note or a stage of a running turn. */
export function isTurnProgress(notice: unknown): notice is NoteNotice | StageNotice {
  const kind = (notice as { readonly kind?: unknown } | undefined)?.kind
  return kind === 'note' || kind === 'stage'
}

async function answerTurn(turn: Turn, run: Omit<TurnRun, 'runningAgent' | 'notes'>): Promise<AnsweredAttempt> {
  const { turnContext } = run
  const runningAgent = turnContext.findAgent(turn.agent)
  if (!runningAgent)
    return answerWithoutAgent(turn, { code: 'agent_removed', sentence: 'there is no such agent any more' }, run)
  const { maxCrashes } = turnContext
  if (turn.crashes >= maxCrashes)
    return answerWithoutAgent(turn, { code: 'agent_crashes', sentence: `gave up after ${maxCrashes} crashes` }, run)
  try {
    const answer = await runWithNotes(turn, { ...run, runningAgent })
    return { answer, outcome: outcomeOf(answer, run.trace) }
  } catch (error) {
    return answerAgentError(turn, error, run)
  }
}

function outcomeOf({ response }: Answer, { silenceOutcome: silence }: TurnTrace): TurnOutcome {
  if (!response) return silence
  return response.status === 'failed' ? 'failed' : 'answered'
}

type TurnRun = Pick<CallDeps, 'turnContext' | 'runningAgent' | 'draft' | 'trace' | 'stopSignal' | 'endSignal' | 'notes'>

/** Runs a turn with its notes. A failed turn also keeps its notes, until the next attempt replaces them. */
async function runWithNotes(turn: Turn, run: Omit<TurnRun, 'notes'>): Promise<Answer> {
  const notes = openNotes(turn, run.turnContext)
  try {
    const answer = await runAgent(turn, { ...run, notes })
    run.trace.steps.close('unfinished')
    const endedNotes = notes.end()
    return { ...answer, ...(endedNotes instanceof Promise ? await endedNotes : endedNotes) }
  } catch (error) {
    run.trace.steps.close(failureCodeOf(error))
    if (!(error instanceof TurnAborted)) await notes.abandon().catch(() => undefined)
    throw error
  }
}

/** Opens the notes of a turn. They are created with the first note, because most turns have none. */
function openNotes(turn: Turn, turnContext: TurnContext): TurnNotes {
  let createdNotes: TurnNotes | undefined
  let endKind: 'ended' | 'abandoned' | undefined
  function open(): TurnNotes {
    if (createdNotes) return createdNotes
    createdNotes = createTurnNotes(turn, turnContext)
    // A first note after the end of the turn fails like any later note.
    if (endKind === 'ended') void createdNotes.end()
    if (endKind === 'abandoned') void createdNotes.abandon().catch(() => undefined)
    return createdNotes
  }
  return {
    note: note => open().note(note),
    stage: (name, answer) => open().stage(name, answer),
    has: type => createdNotes?.has(type) === true,
    beginCall: call => open().beginCall(call),
    async abandon() {
      endKind = 'abandoned'
      await createdNotes?.abandon()
    },
    end() {
      // A retried turn replaces its earlier notes, even if it has none.
      const notes = createdNotes ?? (turn.token > 1 ? open() : undefined)
      endKind = 'ended'
      return notes ? notes.end() : {}
    },
  }
}

/** Answers a message: as a command about the sender's linked addresses, which never reaches the agent, or by the agent. */
async function runAgent(turn: Turn, run: TurnRun): Promise<Answer> {
  const { turnContext, runningAgent, draft } = run
  const command = runningAgent.people?.link ? await answerCommand(turn, turnContext, runningAgent) : undefined
  if (!command) return planAgentAnswer(turn, run, await callWithState(turn, run))
  const { partial, acts } = command
  return { ...planAnswer(turn, turnContext, partial, draft), ...withActions(acts), isGatewayReply: true }
}

/** The answer of an agent, and everything that it did while it answered. */
interface AgentOutcome {
  readonly answer: PartialResponse | undefined
  readonly state: ReturnType<typeof createAgentState>
  readonly actionList: ActionList | undefined
  readonly issuedIds: RequirementList['issuedIds'] | undefined
}

/** Calls the agent with its state, and records the notes of its answer. The lists of actions and requirements are created on first use. */
async function callWithState(turn: Turn, run: TurnRun): Promise<AgentOutcome> {
  const { turnContext, runningAgent, notes } = run
  const speaker = runningAgent.people?.link
    ? await openSpeaker(turn, run)
    : { turnPerson: undefined, person: describeSender(turn, turnContext.channels) }
  const state = createAgentState(turn, turnContext.store)
  let actionList: ActionList | undefined
  let requirementList: RequirementList | undefined
  const answer = await callAgent(turn, {
    ...run,
    state,
    ...speaker,
    openActions: () => (actionList ??= openActionList(turn, run)),
    openRequirements: () => (requirementList ??= createRequirementList(turnContext.requirements, turnContext.system)),
  })
  for (const note of answer?.notes ?? []) notes.note(note as AgentNote)
  if (runningAgent.history.synthesizes) noteSynthesis(turn, answer, runningAgent.history, notes)
  return { answer, state, actionList, issuedIds: requirementList?.issuedIds }
}

/** Plans the rows of an agent's answer: its deliveries, requirements, actions and states. */
async function planAgentAnswer(turn: Turn, run: TurnRun, outcome: AgentOutcome): Promise<Answer> {
  const { turnContext, runningAgent, draft } = run
  const { answer, state, actionList, issuedIds } = outcome
  const { partial, requirements } = needsSettling(answer)
    ? await settleAnswer(turn, answer, { turnContext, issuedIds })
    : { partial: answer, requirements: [] }
  const actions = [...(actionList?.actions ?? []), ...(partial?.acts ?? [])]
  const plannedActions =
    actions.length > 0
      ? await planTurnActions(turn, { ...withRefusalRecord(run), plannedActions: actionList?.plans }, actions)
      : []
  const { store } = turnContext
  const people = findNamedPeople(turn, partial?.parts ?? [], { store, mentions: runningAgent.mentions })
  draft.people = people instanceof Promise ? await people : people
  const plan = saysSomething(partial) ? planAnswer(turn, turnContext, partial, draft) : planSilence(draft)
  const copies = runningAgent.people?.link ? await planLinkedCopy(turn, plan, turnContext, runningAgent) : []
  const notices = planNotices(requirements, turn, turnContext)
  return {
    ...plan,
    ...(requirements.length > 0 && { requirements }),
    ...withActions([...plannedActions, ...notices, ...copies]),
    state: state.findChange(),
    ...(draft.renewPersonState && { personState: await draft.renewPersonState() }),
  }
}

/** Plans an end without an answer. It withdraws an interim response. */
function planSilence({ interim }: AnswerDraft): Omit<Answer, 'response'> {
  return { deliveries: [], ...(interim && { isRevision: true }) }
}

/** Returns dependencies with which refused actions are recorded in the trace of the turn. */
function withRefusalRecord({ turnContext, trace }: Pick<TurnRun, 'turnContext' | 'trace'>) {
  return { ...turnContext, onRefused: (refusedAct: RefusedAct) => trace.recordRefusedAct(refusedAct) }
}

function openActionList(turn: Turn, run: Pick<TurnRun, 'turnContext' | 'trace'>): ActionList {
  const turnContext = withRefusalRecord(run)
  const checker = createActionChecker(actingAgentOf(turn), turnContext)
  return createActionList(turnContext.system, { ...checker, onRefused: turnContext.onRefused })
}

/** Plans the notices to operators about the requirements of an answer. Most answers have none. */
function planNotices(
  requirements: SettledAnswer['requirements'],
  turn: Turn,
  turnContext: TurnContext,
): readonly PlannedAction[] {
  return requirements.length > 0 ? planOperatorNotices(requirements, turn, turnContext) : []
}

/** Finds the person of a turn, and prepares the computation of their state at the commit. */
async function openSpeaker(turn: Turn, run: TurnRun): Promise<Pick<CallDeps, 'turnPerson' | 'person'>> {
  const { turnContext, runningAgent, draft } = run
  const turnPerson = await findTurnPerson(turn, turnContext, runningAgent)
  if (turnPerson) draft.renewPersonState = () => computePersonState(turnPerson, run)
  return { turnPerson, person: turnPerson?.agentPerson ?? (await findAgentPerson(turn, turnContext, runningAgent)) }
}

/** Computes the state of a person. A change is code of the agent and may never end, so it has the same deadline as the agent. */
async function computePersonState(
  turnPerson: TurnPerson,
  { runningAgent, stopSignal, endSignal }: Pick<TurnRun, 'runningAgent' | 'stopSignal' | 'endSignal'>,
): Promise<Answer['personState']> {
  const clock = startTurnClock(runningAgent.deadlineMs, [stopSignal, endSignal])
  try {
    const changedState = await clock.waitWithinTime(turnPerson.computeChange())
    if (changedState) checkState(changedState.state, 'the person')
    return changedState
  } finally {
    clock.stop()
  }
}

function needsSettling(answer: PartialResponse | undefined): answer is PartialResponse {
  return answer?.parts?.some(({ kind }) => kind === 'policy' || kind === 'file' || kind === 'artifact') === true
}

/** Plans the requirements of an answer and stores its files, in the form in which they are sent. */
async function settleAnswer(
  turn: Turn,
  answer: PartialResponse,
  settleContext: Pick<TurnRun, 'turnContext'> & { readonly issuedIds: RequirementList['issuedIds'] | undefined },
): Promise<SettledAnswer> {
  const settledAnswer = settleRequirements(turn, answer, settleContext)
  const { parts = [] } = settledAnswer.partial ?? {}
  const partial = { ...settledAnswer.partial, parts: [...(await resolveFiles(parts, settleContext.turnContext.store))] }
  return { ...settledAnswer, partial }
}

/**
 * Returns true if an answer has content. Actions and tokens alone are no answer, not even in a stream, which always has parts.
 */
function saysSomething(partial: PartialResponse | undefined): partial is PartialResponse {
  if (!partial?.acts && !partial?.notes && !partial?.usage) return partial !== undefined
  return (partial.parts?.length ?? 0) > 0 || partial.status !== undefined
}

function withActions(acts: readonly PlannedAction[]): Pick<Answer, 'acts'> {
  return acts.length > 0 ? { acts } : {}
}

/** Creates an agent's state of a thread. Changes are stored together with its answer. */
function createAgentState(
  turn: Turn,
  store: Pick<Store, 'readState'>,
): AgentState & { findChange(): Json | undefined } {
  let changedState: Json | undefined
  return {
    get: async () => (changedState === undefined ? store.readState(turn.agent, turn.thread) : changedState),
    set: value => {
      changedState = toWellFormed(value)
    },
    findChange: () => checkState(changedState, 'the conversation'),
  }
}
