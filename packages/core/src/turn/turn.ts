import type { ActionList } from '../actions/plan-actions.ts'
import { createActionList, settleFiles } from '../actions/plan-actions.ts'
import { TurnAborted } from '../format/errors.ts'
import type { Json } from '../format/notations.ts'
import type { PartialResponse } from '../message/response.ts'
import { answerCommand } from '../people/answer-command.ts'
import { findTurnPerson } from '../people/person-turn.ts'
import type { AgentState } from '../ports/agent/agent-state.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import { makeId } from '../ports/platform/platform.ts'
import type { AgentNote, NoteNotice, StageNotice } from '../ports/records/note.ts'
import type { Answer, PlannedAction, Turn } from '../ports/records/work.ts'
import type { Store } from '../ports/store.ts'
import type { TurnOutcome } from '../ports/trace/trace.ts'
import type { RequirementList, SettledAnswer } from '../requirements/requirements.ts'
import { createRequirementList, settleRequirements } from '../requirements/requirements.ts'
import type { AnswerDraft } from './answer.ts'
import { planAnswer, planTurnActions } from './answer.ts'
import type { CallDeps } from './call-agent.ts'
import { callAgent, TurnTrace } from './call-agent.ts'
import { planLinkedCopy, planOperatorNotices } from './extra-mails.ts'
import type { AnsweredAttempt } from './failed-turn.ts'
import { answerFault, answerUnasked, commitUnstorable, endFailedTurn, resumeDraft } from './failed-turn.ts'
import type { TurnNotes } from './notes/turn-notes.ts'
import { createTurnNotes, noteSynthesis } from './notes/turn-notes.ts'

/** history → agent.handle → commit. `stop` aborts when the process shuts down: the turn is then given back. */
export async function workTurn(turn: Turn, turnContext: TurnContext, stop: AbortSignal): Promise<void> {
  const { results, platform } = turnContext
  const trace = new TurnTrace(turn, platform)
  const ending = listenForEnd(turn, turnContext)
  let draft: AnswerDraft | undefined
  try {
    // Who admitted its message hears of that in the same instant, and then follows the turn: they must not miss its first pieces.
    await new Promise(setImmediate)
    draft = turn.token > 1 ? await resumeDraft(turn, turnContext) : { id: makeId(platform) }
    const { answer, outcome } = await answerTurn(turn, { turnContext, draft, stop, ended: ending.signal, trace })
    const ended = { ...answer, attempt: trace.end(outcome, draft.usage ?? answer.response?.usage) }
    turnContext.noteAnswered?.(turn)
    try {
      await results.commit(turn, ended)
    } catch (error) {
      await commitUnstorable(turn, ended, error, { turnContext, trace })
    }
    platform.log.info(
      { correlation_id: turn.correlationId, message: turn.message, agent: turn.agent, status: answer.response?.status },
      'turn committed',
    )
  } catch (error) {
    await endFailedTurn(turn, error, { turnContext, draft, trace, stop })
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

const turnEndings: ReadonlySet<unknown> = new Set<TurnAborted['kind']>(['canceled', 'deleted', 'interrupted', 'edited'])

/** The reason why the store has aborted a turn, from a notice on its topic; undefined when it has not. */
export function readAbortKind(notice: unknown): TurnAborted['kind'] | undefined {
  const kind = (notice as { readonly kind?: unknown } | undefined)?.kind
  return turnEndings.has(kind) ? (kind as TurnAborted['kind']) : undefined
}

/** Whether it tells of a turn that goes on: what was noted in it, the stage it is in. Nothing has ended. */
export function isTurnNews(notice: unknown): notice is NoteNotice | StageNotice {
  const kind = (notice as { readonly kind?: unknown } | undefined)?.kind
  return kind === 'note' || kind === 'stage'
}

async function answerTurn(turn: Turn, run: Omit<Run, 'running' | 'notes'>): Promise<AnsweredAttempt> {
  const { turnContext } = run
  const running = turnContext.findAgent(turn.agent)
  if (!running) return answerUnasked(turn, 'there is no such agent any more', run)
  if (turn.crashes >= turnContext.maxCrashes)
    return answerUnasked(turn, `gave up after ${turnContext.maxCrashes} crashes`, run)
  try {
    const answer = await runWithNotes(turn, { ...run, running })
    return { answer, outcome: outcomeOf(answer) }
  } catch (error) {
    return answerFault(turn, error, run)
  }
}

function outcomeOf({ response }: Answer): TurnOutcome {
  if (!response) return 'silent'
  return response.status === 'failed' ? 'failed' : 'answered'
}

type Run = Pick<CallDeps, 'turnContext' | 'running' | 'draft' | 'trace' | 'stop' | 'ended' | 'notes'>

/** Runs a turn with its notes. A failed turn keeps its notes, too, until the next try replaces them. */
async function runWithNotes(turn: Turn, run: Omit<Run, 'notes'>): Promise<Answer> {
  const notes = openNotes(turn, run.turnContext)
  try {
    const answer = await runAgent(turn, { ...run, notes })
    return { ...answer, ...(await notes.end()) }
  } catch (error) {
    if (!(error instanceof TurnAborted)) await notes.abandon().catch(() => undefined)
    throw error
  }
}

/** Most turns note nothing: what keeps notes is made for the first one. */
function openNotes(turn: Turn, turnContext: TurnContext): TurnNotes {
  let made: TurnNotes | undefined
  let over: 'ended' | 'abandoned' | undefined
  function open(): TurnNotes {
    if (made) return made
    made = createTurnNotes(turn, turnContext)
    // An agent that goes on behind the end of its turn notes into the same as one that has noted before.
    if (over === 'ended') void made.end()
    if (over === 'abandoned') void made.abandon().catch(() => undefined)
    return made
  }
  return {
    note: note => open().note(note),
    stage: (name, answer) => open().stage(name, answer),
    has: type => made?.has(type) === true,
    beginCall: call => open().beginCall(call),
    async abandon() {
      over = 'abandoned'
      await made?.abandon()
    },
    async end() {
      // A turn that is tried again replaces its notes, also by none.
      const notes = made ?? (turn.token > 1 ? open() : undefined)
      over = 'ended'
      return notes ? notes.end() : {}
    },
  }
}

async function runAgent(turn: Turn, run: Run): Promise<Answer> {
  const { turnContext, running, draft, notes } = run
  const { store, platform } = turnContext
  const mayBeLinked = running.people?.link === true
  const command = mayBeLinked ? await answerCommand(turn, turnContext, running) : undefined
  if (command)
    return {
      ...planAnswer(turn, turnContext, command.partial, draft),
      ...withActions(command.acts),
      isGatewayReply: true,
    }
  const known = mayBeLinked ? await findTurnPerson(turn, turnContext, running) : undefined
  const state = createAgentState(turn, store)
  let acts: ActionList | undefined
  let requiring: RequirementList | undefined
  const answer = await callAgent(turn, {
    ...run,
    state,
    known,
    openActs: () => (acts ??= createActionList(platform)),
    openRequiring: () => (requiring ??= createRequirementList(turnContext.requirements, platform)),
  })
  for (const note of answer?.notes ?? []) notes.note(note as AgentNote)
  if (running.history.synthesizes) noteSynthesis(turn, answer, running.history, notes)
  const issued = requiring?.issued
  const { partial, requirements } = needsSettling(answer)
    ? await settleAnswer(turn, answer, { turnContext, issued })
    : { partial: answer, requirements: [] }
  const actions = [...(acts?.done ?? []), ...(partial?.acts ?? [])]
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

function needsSettling(said: PartialResponse | undefined): said is PartialResponse {
  return said?.parts?.some(({ kind }) => kind === 'policy' || kind === 'file' || kind === 'artifact') === true
}

/** What it requires, and its files, in the form in which they go out. */
async function settleAnswer(
  turn: Turn,
  answer: PartialResponse,
  settling: Pick<Run, 'turnContext'> & { readonly issued: RequirementList['issued'] | undefined },
): Promise<SettledAnswer> {
  const settled = settleRequirements(turn, answer, settling)
  const { parts = [] } = settled.partial ?? {}
  const partial = { ...settled.partial, parts: [...(await settleFiles(parts, settling.turnContext.store))] }
  return { ...settled, partial }
}

/** What was done and spent alone is no answer; neither is it when it came in a stream, which always has parts. */
function saysSomething(partial: PartialResponse | undefined): partial is PartialResponse {
  if (!partial?.acts && !partial?.notes && !partial?.usage) return partial !== undefined
  return (partial.parts?.length ?? 0) > 0 || partial.status !== undefined
}

function withActions(acts: readonly PlannedAction[]): Pick<Answer, 'acts'> {
  return acts.length > 0 ? { acts } : {}
}

/** An agent's state of a thread; what it sets is written with its answer. */
function createAgentState(turn: Turn, store: Pick<Store, 'readState'>): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? store.readState(turn.agent, turn.thread) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}
