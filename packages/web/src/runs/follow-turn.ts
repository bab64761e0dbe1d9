// Follows a turn from its admission to its end.
import type { NormalizedResponse, Part, PartialResponse, System, TurnAborted } from '@postern/message'
import type { NoteNotice, SettledTask, StageNotice, Store } from '@postern/pipeline'
import { isTurnProgress, readAbortKind } from '@postern/pipeline'
import type { AnswerDetails } from '../events/run-events.ts'
import type { TurnPolls } from '../polling/turn-polls.ts'

/** A turn with an answer that a client follows. */
export interface WatchedTurn {
  /** The number of the message in the store. */
  readonly message: number
  readonly task: { readonly owner: string; readonly id: string } | undefined
  /** The time when the message was admitted, ms. It is absent if a decision caused the turn. */
  readonly askedAt?: number | undefined
}

export interface TurnEnding {
  /** The answer. It is undefined if the agent wrote none. */
  readonly response?: NormalizedResponse | undefined
  readonly isCanceled: boolean
}

export interface TurnWatcher {
  writePiece(parts: readonly Part[], responseId: string): void
  /** Writes speaker, state, trace and cost. The call precedes `writePiece` for the parts of the same piece. */
  writeDetails(details: AnswerDetails, responseId: string): void
  writeInterim(parts: readonly Part[]): void
  writeNote(notice: NoteNotice | StageNotice): void
  sendHeartbeat(): void
  end(ending: TurnEnding): void
  /** Reports that the turn cannot be read, or that it has not begun because its agent is paused. */
  fail(reason: 'unreadable' | 'paused'): void
}

interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  readonly run: number
  readonly index: number
  readonly response: string
}

/** The notice of an ended turn. `task` is the task after the turn, if the store adds it. */
interface EndNotice {
  readonly kind: 'settled' | TurnAborted['kind']
  readonly task?: SettledTask | undefined
}

type Notice = ChunkNotice | NoteNotice | StageNotice | EndNotice

/** The states of tasks, and of messages that a decision caused, before their turns begin. */
const pendingStates: ReadonlySet<string> = new Set(['submitted', 'received'])

const openStates: ReadonlySet<string> = new Set([...pendingStates, 'working'])

interface FollowDeps {
  readonly store: Pick<Store, 'listen' | 'findAnswer' | 'findTask' | 'findMessage'>
  readonly system: Pick<System, 'log'>
  readonly turnPolls: TurnPolls
  /** Returns true if the agent begins no turn now. If it is absent, the agent begins turns. */
  isPaused?(): boolean
}

interface FollowedTurn extends FollowDeps {
  readonly watchedTurn: WatchedTurn
  readonly watcher: TurnWatcher
  /** True if the watcher gets nothing more. */
  isOver: boolean
  /** The number of the agent's call whose pieces the watcher gets. */
  run: number | undefined
  nextPiece: number
  stop(): void
}

/**
 * Follows a turn from its admission to its end, and returns a function that stops it. The pieces of one agent call come
 * without gaps: after a missed piece, all further text comes with the answer.
 */
export function followTurn(watchedTurn: WatchedTurn, watcher: TurnWatcher, deps: FollowDeps): () => void {
  const { store, turnPolls } = deps
  const stop = () => {
    turn.isOver = true
    stopListening()
    stopPolling()
  }
  const turn: FollowedTurn = {
    ...deps,
    watchedTurn,
    watcher,
    isOver: false,
    run: undefined,
    nextPiece: 0,
    stop,
  }
  const stopListening = store.listen(`message:${watchedTurn.message}`, payload =>
    handleNotice(payload as Notice | undefined, turn),
  )
  const stopPolling = turnPolls.add(() => {
    watcher.sendHeartbeat()
    void queryTurn(turn)
  })
  // A turn that was caused by a decision may have ended by now; one that was just admitted has not.
  if (watchedTurn.askedAt === undefined || deps.isPaused?.()) void queryTurn(turn)
  return stop
}

function handleNotice(notice: Notice | undefined, turn: FollowedTurn): void {
  if (notice?.kind === 'part') handlePiece(notice, turn)
  else if (isTurnProgress(notice)) turn.watcher.writeNote(notice)
  else if (notice?.kind === 'settled' || readAbortKind(notice)) handleEnd(notice, turn)
}

function handleEnd(notice: EndNotice | undefined, turn: FollowedTurn): void {
  const task = notice?.task
  if (task === undefined) void queryTurn(turn)
  else if (!openStates.has(task.state)) endWith(task.state, task.response, turn)
}

function handlePiece(notice: ChunkNotice, turn: FollowedTurn): void {
  turn.run ??= notice.run
  if (notice.run !== turn.run || notice.index !== turn.nextPiece) return
  turn.nextPiece += 1
  const { status, parts = [], speaker, chat_state, trace, usage } = notice.chunk
  turn.watcher.writeDetails({ speaker, chat_state, trace, usage }, notice.response)
  if (parts.length === 0) return
  if (status === 'working') turn.watcher.writeInterim(parts)
  else turn.watcher.writePiece(parts, notice.response)
}

async function queryTurn(turn: FollowedTurn): Promise<void> {
  const { watchedTurn, watcher, store, system, stop } = turn
  const { message, task } = watchedTurn
  try {
    const state = task ? (await store.findTask(task))?.state : (await store.findMessage(`#${message}`))?.state
    if (state !== undefined && pendingStates.has(state) && turn.isPaused?.() && !turn.isOver) {
      stop()
      return watcher.fail('paused')
    }
    if (state !== undefined && openStates.has(state)) return
    // The answer is read after the state. A turn that has ended by then has its answer, and another one may end between
    // the two reads.
    const answer = await store.findAnswer(message)
    if (!turn.isOver) endWith(state, answer?.response, turn)
  } catch (error) {
    system.log.warn({ err: error, message }, 'a run cannot be followed')
    stop()
    watcher.fail('unreadable')
  }
}

/** Ends the stream of a turn. A message that was deleted during its turn counts as canceled. */
function endWith(
  state: string | undefined,
  response: NormalizedResponse | undefined,
  { watcher, stop }: FollowedTurn,
): void {
  const isCanceled = state === 'canceled' || state === undefined
  stop()
  watcher.end({ response: isCanceled ? undefined : response, isCanceled })
}
