import type { NormalizedResponse, NoteNotice, Part, PartialResponse, Platform, StageNotice, Store } from '@postern/core'
import { isTurnNews } from '@postern/core'
import type { Behind } from '../events/run-events.ts'

/** A turn whose answer somebody watches. */
export interface Watched {
  /** Our number of the message. */
  readonly message: number
  readonly task: { readonly owner: string; readonly id: string } | undefined
  /** When it was taken, ms; absent where a decision has caused it. */
  readonly askedAt?: number | undefined
}

export interface TurnEnding {
  /** `undefined`: the agent said nothing. */
  readonly response?: NormalizedResponse | undefined
  readonly isCanceled: boolean
}

export interface TurnWatcher {
  piece(parts: readonly Part[], response: string): void
  /** What stands behind the words; before those of the same piece. */
  behind(behind: Behind): void
  interim(parts: readonly Part[]): void
  note(notice: NoteNotice | StageNotice): void
  beat(): void
  end(ending: TurnEnding): void
  /** The gateway shuts down or the turn cannot be read any more. */
  fail(): void
}

interface ChunkNotice {
  readonly kind: string
  readonly chunk: PartialResponse
  readonly run: number
  readonly index: number
  readonly response: string
}

/** Of tasks, and of messages that a decision has caused. */
const openStates: ReadonlySet<string> = new Set(['submitted', 'received', 'working'])

/** A notice is a hint that may be lost: the store is looked at this often, ms. */
const lookMs = 5_000

/**
 * Watches a turn from its admission to its end. Pieces of one run of the agent come without gaps, or not at all: who missed one hears the
 * rest with the answer. Gives what ends watching.
 */
export function followTurn(
  { message, task }: Watched,
  watcher: TurnWatcher,
  {
    store,
    platform,
  }: {
    readonly store: Pick<Store, 'listen' | 'findAnswer' | 'findTask' | 'findMessage'>
    readonly platform: Pick<Platform, 'sleep' | 'log'>
  },
): () => void {
  const closing = new AbortController()
  let run: number | undefined
  let next = 0

  function hear(notice: ChunkNotice): void {
    run ??= notice.run
    if (notice.run !== run || notice.index !== next) return
    next += 1
    const { status, parts = [], speaker, chat_state, trace, usage } = notice.chunk
    watcher.behind({ speaker, chat_state, trace, usage })
    if (parts.length === 0) return
    if (status === 'working') watcher.interim(parts)
    else watcher.piece(parts, notice.response)
  }

  const unlisten = store.listen(`message:${message}`, payload => {
    const notice = payload as
      | ChunkNotice
      | NoteNotice
      | StageNotice
      | { readonly kind: 'settled' | 'canceled' }
      | undefined
    if (notice?.kind === 'part') hear(notice)
    else if (isTurnNews(notice)) watcher.note(notice)
    else if (notice?.kind === 'settled' || notice?.kind === 'canceled') void look()
  })

  function stop(): void {
    closing.abort()
    unlisten()
  }

  async function look(): Promise<void> {
    try {
      const found = await store.findAnswer(message)
      const state = task ? (await store.findTask(task))?.state : (await store.findMessage(`#${message}`))?.state
      if (closing.signal.aborted) return
      // What was deleted while it was worked on is broken off.
      const isCanceled = state === 'canceled' || state === undefined
      if (!isCanceled && openStates.has(state)) return
      stop()
      watcher.end({ response: isCanceled ? undefined : found?.response, isCanceled })
    } catch (error) {
      platform.log.warn({ err: error, message }, 'a run cannot be followed')
      stop()
      watcher.fail()
    }
  }

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      await platform.sleep(lookMs, closing.signal)
      if (closing.signal.aborted) return
      watcher.beat()
      await look()
    }
  }

  void look()
  void keepLooking()
  return stop
}
