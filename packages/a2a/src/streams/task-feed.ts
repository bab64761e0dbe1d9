import type { NormalizedResponse, Part, Platform, Store, TaskKey, TaskRecord, TaskState } from '@postern/core'
import { isoTime, isTurnNews, readAbortKind } from '@postern/core'
import { isTerminal, toWireState } from '../format/states.ts'
import type { WireMessage, WirePart, WireStreamEvent, WireTask, WireTaskStatus } from '../format/wire.ts'
import { isSettled } from '../tasks/await-task.ts'
import type { TaskView } from '../tasks/show-task.ts'
import { partsMade, showParts, showTask, trimHistory } from '../tasks/show-task.ts'
import type { Sink } from './event-stream.ts'
import type { ChunkNotice, LiveAnswer } from './live-answer.ts'
import { beginLiveAnswer, joinPieces, takeChunk } from './live-answer.ts'
import { createRing } from './ring.ts'

export interface FeedDeps {
  readonly store: Pick<Store, 'listen' | 'findTask' | 'findBlob'>
  readonly platform: Pick<Platform, 'now' | 'sleep' | 'log'>
}

/** Somebody who is told of a task. */
export interface FeedListener {
  readonly sink: Sink
  /** How much of the task its first event shows. */
  readonly view: TaskView
  /** The stream of a message lasts until the task is at rest, which it may be while it waits for the client; a subscription until it has ended. */
  readonly isOwn?: boolean | undefined
  /** Where the listener was cut off; told from there on where that is still known. */
  readonly after?: string | undefined
}

/** What happens in one task, told to all who listen in one order. */
export interface TaskFeed {
  join(listener: FeedListener): void
  leave(listener: FeedListener): void
  /** A message was admitted to the task: what its turn says is of this task. */
  track(message: number): void
  /** The truth is in the store: looks whether something happened that nobody announced. */
  look(): void
  beat(): void
  isIdle(): boolean
  /** Whether what happened behind this event is still known. */
  knows(eventId: string): boolean
  /** Ends all listening; the task goes on. */
  close(): void
}

interface FeedOptions {
  readonly key: TaskKey
  /** Tells the places of this feed from those of an earlier one of the same task. */
  readonly epoch: string
  /** Whether somebody may come back for what he missed. */
  keepsEvents(): boolean
  /** Nobody listens any more. */
  onIdle(): void
}

/** Characters of what was said before, in the first event of a stream: each of many listeners may hold one until it is read. */
const maxPastChars = 512 * 1024

/** How long the newest piece waits for the next one, so that the last can be marked as such, ms. */
const holdMs = 20

type Step = () => Promise<void> | void

export function createTaskFeed(
  { store, platform }: FeedDeps,
  { key, epoch, keepsEvents, onIdle }: FeedOptions,
): TaskFeed {
  const ring = createRing(epoch, keepsEvents)
  /** Who has seen the task, and who is about to. */
  const listeners = new Set<FeedListener>()
  const waiting = new Set<FeedListener>()
  const tracked = new Map<number, () => void>()
  const steps: Step[] = []
  let isStepping = false
  let isClosed = false
  let context = ''
  /** What the listeners know; undefined before the first. */
  let known: { state: TaskState; response: string | undefined } | undefined
  let live: LiveAnswer | undefined
  /** Of an answer on its way; the store does not know it. */
  let liveStatus: WireTaskStatus | undefined

  /** One step after the other: what was announced in an order is told in that order, and nobody joins in between. */
  function queue(step: Step): void {
    steps.push(step)
    if (!isStepping) void takeSteps()
  }

  async function takeSteps(): Promise<void> {
    isStepping = true
    for (let step = steps.shift(); step && !isClosed; step = steps.shift()) {
      try {
        await step()
      } catch (error) {
        // Nobody is told less for it: what was not told now is found at the next look.
        platform.log.warn({ err: error, via: 'a2a' }, 'a stream could not be continued')
      }
    }
    isStepping = false
  }

  function tell(event: WireStreamEvent): void {
    const { id } = ring.put(event)
    for (const { sink } of listeners) sink.send(event, id)
  }

  function end(listener: FeedListener, error?: unknown): void {
    if (!listeners.delete(listener)) return
    listener.sink.end(error)
    checkIdle()
  }

  function checkIdle(): void {
    if (listeners.size + waiting.size === 0) onIdle()
  }

  async function admit(listener: FeedListener): Promise<void> {
    try {
      if (waiting.has(listener)) await showFirst(listener)
    } catch (error) {
      if (waiting.has(listener)) listener.sink.end(error)
    } finally {
      waiting.delete(listener)
      checkIdle()
    }
  }

  async function showFirst(listener: FeedListener): Promise<void> {
    const record = await store.findTask(key)
    if (!record) throw new Error('the task is gone')
    context = record.context
    await tellDifference(record)
    const missed = listener.after === undefined ? undefined : ring.after(listener.after)
    const task = missed
      ? undefined
      : await addLive(trimHistory(await showTask(store, record, listener.view), maxPastChars))
    if (!waiting.has(listener)) return
    const first = missed ?? [{ id: ring.here(), event: { task: task as WireTask } }]
    for (const { event, id } of first) listener.sink.send(event, id)
    if (isOver(listener, record)) listener.sink.end()
    else listeners.add(listener)
  }

  /** What is being said right now belongs to what who comes late is shown. */
  async function addLive(task: WireTask): Promise<WireTask> {
    if (!live || live.response === known?.response) return task
    const { response, told } = live
    const artifact = { artifactId: response, parts: await showParts(store, joinPieces(told)) }
    return {
      ...task,
      ...(liveStatus && { status: liveStatus }),
      ...(told.length > 0 && { artifacts: [...(task.artifacts ?? []), artifact] }),
    }
  }

  async function lookNow(): Promise<void> {
    const record = await store.findTask(key)
    if (!record) {
      for (const listener of listeners) end(listener, new Error('the task is gone'))
      return
    }
    await tellDifference(record)
    for (const listener of listeners) {
      if (isOver(listener, record)) end(listener)
    }
  }

  async function tellDifference({ state, response, updatedAt }: TaskRecord): Promise<void> {
    const before = known
    known = { state, response: response?.id }
    if (!before) return
    const answer = response?.id === before.response ? undefined : response
    if (!answer && state === before.state) return
    if (answer) await tellMade(answer)
    if (answer || isTerminal(state)) forgetLive()
    const message = answer && (await showMessage(answer.id, answer.parts))
    tellStatus({ state: toWireState(state), timestamp: isoTime(updatedAt), ...(message && { message }) })
  }

  function untrack(message: number): void {
    tracked.get(message)?.()
    tracked.delete(message)
  }

  function forgetLive(): void {
    live = undefined
    liveStatus = undefined
  }

  /** What was told as an artifact comes to its end; what was not is told whole. */
  async function tellMade(answer: NormalizedResponse): Promise<void> {
    const parts = partsMade(answer)
    if (parts.length === 0) return
    const pieces = live?.response === answer.id && (live.held || live.told.length > 0) ? live : undefined
    if (!pieces) tellArtifact(answer.id, await showParts(store, parts), { lastChunk: true })
    else if (pieces.held) await tellPiece(pieces, { lastChunk: true })
    // All pieces are gone already: an empty one says that it was the last.
    else tellArtifact(answer.id, [{ text: '' }], { append: true, lastChunk: true })
  }

  async function tellPiece(from: LiveAnswer, mark: { readonly lastChunk?: true } = {}): Promise<void> {
    const { held, told, response } = from
    if (!held) return
    from.held = undefined
    const parts = await showParts(store, held)
    tellArtifact(response, parts, { ...(told.length > 0 && { append: true }), ...mark })
    told.push(...held)
  }

  function tellArtifact(
    artifactId: string,
    parts: readonly WirePart[],
    mark: { append?: true; lastChunk?: true },
  ): void {
    tell({ artifactUpdate: { taskId: key.id, contextId: context, artifact: { artifactId, parts }, ...mark } })
  }

  function tellStatus(status: WireTaskStatus): void {
    tell({ statusUpdate: { taskId: key.id, contextId: context, status } })
  }

  async function showMessage(messageId: string, parts: readonly Part[]): Promise<WireMessage | undefined> {
    if (parts.length === 0) return undefined
    const shown = await showParts(store, parts)
    return { messageId, role: 'ROLE_AGENT', contextId: context, taskId: key.id, parts: shown }
  }

  async function takeNotice(message: number, notice: ChunkNotice): Promise<void> {
    if (notice.index === 0) {
      live = beginLiveAnswer(message, notice)
      liveStatus = undefined
    }
    const meaning = live?.message === message ? takeChunk(live, notice) : undefined
    if (!live || !meaning) return
    if (meaning.kind === 'interim') return tellWorking(await showMessage(meaning.id, meaning.parts))
    tellWorking()
    if (meaning.kind === 'piece') await holdPiece(live, meaning.parts)
  }

  function tellWorking(message?: WireMessage): void {
    if (known?.state === 'working' && !message) return
    if (known) known.state = 'working'
    const timestamp = isoTime(platform.now())
    liveStatus = { state: toWireState('working'), timestamp, ...(message && { message }) }
    if (known) tellStatus(liveStatus)
  }

  async function holdPiece(from: LiveAnswer, parts: readonly Part[]): Promise<void> {
    await tellPiece(from)
    from.held = parts
    const { count } = from
    void platform
      .sleep(holdMs)
      .then(() => queue(() => (from === live && from.count === count ? tellPiece(from) : undefined)))
  }

  return {
    join(listener) {
      waiting.add(listener)
      queue(() => admit(listener))
    },
    leave(listener) {
      waiting.delete(listener)
      listeners.delete(listener)
      checkIdle()
    },
    track(message) {
      if (tracked.has(message) || isClosed) return
      const unlisten = store.listen(`message:${message}`, notice => {
        if (isChunk(notice)) return queue(() => takeNotice(message, notice))
        if (isTurnNews(notice)) return
        untrack(message)
        // The task goes on with a newer message, and so does whoever listens.
        if (readAbortKind(notice) === 'interrupted') return
        queue(lookNow)
      })
      tracked.set(message, unlisten)
    },
    look: () => queue(lookNow),
    beat() {
      for (const { sink } of listeners) sink.beat()
    },
    isIdle: () => listeners.size + waiting.size === 0,
    knows: eventId => ring.after(eventId) !== undefined,
    close() {
      isClosed = true
      for (const unlisten of tracked.values()) unlisten()
      for (const { sink } of [...waiting, ...listeners]) sink.end()
      waiting.clear()
      listeners.clear()
    },
  }
}

function isChunk(notice: unknown): notice is ChunkNotice {
  return (notice as { readonly kind?: unknown } | undefined)?.kind === 'part'
}

function isOver({ isOwn }: FeedListener, record: TaskRecord): boolean {
  return isOwn ? isSettled(record) : isTerminal(record.state)
}
