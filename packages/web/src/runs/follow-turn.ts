import type {
  NormalizedResponse,
  NoteNotice,
  Part,
  PartialResponse,
  Platform,
  SettledTask,
  StageNotice,
  Store,
} from '@postern/core'
import { isTurnNews } from '@postern/core'
import type { Behind } from '../events/run-events.ts'

/** A turn whose answer a client follows. */
export interface Watched {
  /** Our number of the message. */
  readonly message: number
  readonly task: { readonly owner: string; readonly id: string } | undefined
  /** When the message was admitted, ms; absent if a decision caused the turn. */
  readonly askedAt?: number | undefined
}

export interface TurnEnding {
  /** `undefined`: the agent said nothing. */
  readonly response?: NormalizedResponse | undefined
  readonly isCanceled: boolean
}

export interface TurnWatcher {
  piece(parts: readonly Part[], response: string): void
  /** Speaker, state, trace and cost. It comes before the parts of the same piece. */
  behind(behind: Behind): void
  interim(parts: readonly Part[]): void
  note(notice: NoteNotice | StageNotice): void
  beat(): void
  end(ending: TurnEnding): void
  /** The gateway shuts down, or the turn cannot be read. */
  fail(): void
}

interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  readonly run: number
  readonly index: number
  readonly response: string
}

/** `task`: as it is after the turn, if the store tells it. */
interface EndNotice {
  readonly kind: 'settled' | 'canceled'
  readonly task?: SettledTask | undefined
}

type Notice = ChunkNotice | NoteNotice | StageNotice | EndNotice

/** States of tasks, and of messages that a decision caused. */
const openStates: ReadonlySet<string> = new Set(['submitted', 'received', 'working'])

/** Notices may get lost, so the store is read after the first of these times, ms, and from then on after the second. */
const [firstLookMs, lookMs] = [1_000, 5_000]

interface FollowDeps {
  readonly store: Pick<Store, 'listen' | 'findAnswer' | 'findTask' | 'findMessage'>
  readonly platform: Pick<Platform, 'sleep' | 'log'>
}

interface FollowedTurn extends FollowDeps {
  readonly watched: Watched
  readonly watcher: TurnWatcher
  readonly closing: AbortSignal
  /** The agent's call whose pieces the watcher gets. */
  run: number | undefined
  nextPiece: number
  stop(): void
}

/**
 * Follows a turn from its admission to its end, and returns what stops it. The pieces of one agent call come without gaps: after a missed
 * piece the rest comes with the answer.
 */
export function followTurn(watched: Watched, watcher: TurnWatcher, { store, platform }: FollowDeps): () => void {
  const closing = new AbortController()
  const stop = () => {
    closing.abort()
    unlisten()
  }
  const state = { run: undefined, nextPiece: 0 }
  const turn: FollowedTurn = { watched, watcher, store, platform, closing: closing.signal, ...state, stop }
  const unlisten = store.listen(`message:${watched.message}`, payload => hear(payload as Notice | undefined, turn))
  // A turn that was caused by a decision may have ended by now; one that was just admitted has not.
  if (watched.askedAt === undefined) void look(turn)
  void keepLooking(turn)
  return stop
}

function hear(notice: Notice | undefined, turn: FollowedTurn): void {
  if (notice?.kind === 'part') hearPiece(notice, turn)
  else if (isTurnNews(notice)) turn.watcher.note(notice)
  else if (notice?.kind === 'settled' || notice?.kind === 'canceled') hearEnd(notice, turn)
}

function hearEnd({ task }: EndNotice, turn: FollowedTurn): void {
  if (task === undefined) void look(turn)
  else if (!openStates.has(task.state)) endWith(task.state, task.response, turn)
}

function hearPiece(notice: ChunkNotice, turn: FollowedTurn): void {
  turn.run ??= notice.run
  if (notice.run !== turn.run || notice.index !== turn.nextPiece) return
  turn.nextPiece += 1
  const { status, parts = [], speaker, chat_state, trace, usage } = notice.chunk
  turn.watcher.behind({ speaker, chat_state, trace, usage })
  if (parts.length === 0) return
  if (status === 'working') turn.watcher.interim(parts)
  else turn.watcher.piece(parts, notice.response)
}

async function look(turn: FollowedTurn): Promise<void> {
  const { watched, watcher, store, platform, closing, stop } = turn
  const { message, task } = watched
  try {
    const found = await store.findAnswer(message)
    const state = task ? (await store.findTask(task))?.state : (await store.findMessage(`#${message}`))?.state
    if (closing.aborted) return
    if (state === undefined || !openStates.has(state)) endWith(state, found?.response, turn)
  } catch (error) {
    platform.log.warn({ err: error, message }, 'a run cannot be followed')
    stop()
    watcher.fail()
  }
}

/** A message that was deleted during its turn counts as canceled. */
function endWith(
  state: string | undefined,
  response: NormalizedResponse | undefined,
  { watcher, stop }: FollowedTurn,
): void {
  const isCanceled = state === 'canceled' || state === undefined
  stop()
  watcher.end({ response: isCanceled ? undefined : response, isCanceled })
}

async function keepLooking(turn: FollowedTurn): Promise<void> {
  const { platform, closing, watcher } = turn
  for (let napMs = firstLookMs; !closing.aborted; napMs = lookMs) {
    await platform.sleep(napMs, closing)
    if (closing.aborted) return
    watcher.beat()
    await look(turn)
  }
}
