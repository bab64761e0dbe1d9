import type { NormalizedResponse, Part, TaskRecord } from '@postern/core'
import { isoTime } from '@postern/core'
import type { WireMessage, WirePart, WireTask, WireTaskStatus } from '../format/wire.ts'
import { isTerminal, wireStateOf } from '../format/wire.ts'
import { partsMade, showParts, showTask, trimHistory } from '../render.ts'
import { isSettled } from '../tasks/lifetime.ts'
import type { ChunkNotice, FeedListener, FeedState, LiveAnswer } from './feed-state.ts'
import { beginLiveAnswer, checkIdle, endListener, joinPieces, sendToAll, takeChunk } from './feed-state.ts'

/** Characters of history in the first event of a stream, because each of many listeners may hold one until it is read. */
const maxPastChars = 512 * 1024

/** Sends a new listener the task, or what it has missed. */
export async function admitListener(listener: FeedListener, feed: FeedState): Promise<void> {
  const { waiting } = feed
  try {
    if (waiting.has(listener)) await sendFirst(listener, feed)
  } catch (error) {
    if (waiting.has(listener)) listener.sink.end(error)
  } finally {
    waiting.delete(listener)
    checkIdle(feed)
  }
}

/** Reads the task from the store and sends what has changed. */
export async function sendChanges(feed: FeedState): Promise<void> {
  const record = await feed.store.findTask(feed.key)
  if (!record) {
    for (const listener of feed.listeners) endListener(listener, feed, new Error('the task is gone'))
    return
  }
  await sendDifference(record, feed)
  for (const listener of feed.listeners) {
    if (isOver(listener, record)) endListener(listener, feed)
  }
}

async function sendFirst(listener: FeedListener, feed: FeedState): Promise<void> {
  const { store, key, ring } = feed
  const record = await store.findTask(key)
  if (!record) throw new Error('the task is gone')
  feed.context = record.context
  await sendDifference(record, feed)
  const missed = listener.after === undefined ? undefined : ring.after(listener.after)
  const task = missed
    ? undefined
    : await addLive(trimHistory(await showTask(store, record, listener.view), maxPastChars), feed)
  if (!feed.waiting.has(listener)) return
  const first = missed ?? [{ id: ring.here(), event: { task: task as WireTask } }]
  for (const { event, id } of first) listener.sink.send(event, id)
  if (isOver(listener, record)) listener.sink.end()
  else feed.listeners.add(listener)
}

async function sendDifference({ state, response, updatedAt }: TaskRecord, feed: FeedState): Promise<void> {
  const before = feed.known
  feed.known = { state, response: response?.id }
  if (!before) return
  const answer = response?.id === before.response ? undefined : response
  if (!answer && state === before.state) return
  if (answer) await sendMade(answer, feed)
  if (answer || isTerminal(state)) {
    feed.live = undefined
    feed.liveStatus = undefined
  }
  const message = answer && (await showMessage(answer.id, answer.parts, feed))
  sendStatus({ state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) }, feed)
}

/** Ends a streamed artifact, or sends the artifact whole. */
async function sendMade(answer: NormalizedResponse, feed: FeedState): Promise<void> {
  const parts = partsMade(answer)
  if (parts.length === 0) return
  const { live, store } = feed
  const isStreamed = live?.response === answer.id && !live.hasGap && (live.held !== undefined || live.told.length > 0)
  const pieces = isStreamed ? live : undefined
  const artifactId = answer.id
  if (!pieces) sendArtifact({ artifactId, parts: await showParts(store, parts) }, { lastChunk: true }, feed)
  else if (pieces.held) await sendHeldPiece(pieces, { lastChunk: true }, feed)
  // All pieces were sent before, so an empty one says that the artifact is complete.
  else sendArtifact({ artifactId, parts: [{ text: '' }] }, { append: true, lastChunk: true }, feed)
}

function isOver({ isOwn }: FeedListener, record: TaskRecord): boolean {
  return isOwn ? isSettled(record) : isTerminal(record.state)
}

/** How long the newest piece waits for the next one, so that the last can be marked as such, ms. */
const holdMs = 20

/** `append`: continues the artifact. `lastChunk`: ends it. */
interface ChunkMark {
  readonly append?: true
  readonly lastChunk?: true
}

/** Sends a piece of an answer in progress. */
export async function sendNotice(message: number, notice: ChunkNotice, feed: FeedState): Promise<void> {
  if (notice.index === 0) {
    feed.live = beginLiveAnswer(message, notice)
    feed.liveStatus = undefined
  }
  const { live } = feed
  const meaning = live?.message === message ? takeChunk(live, notice) : undefined
  if (!live || !meaning) return
  if (meaning.kind === 'interim') return sendWorking(feed, await showMessage(meaning.id, meaning.parts, feed))
  sendWorking(feed)
  if (meaning.kind === 'piece') await holdPiece(live, meaning.parts, feed)
}

/** Adds an answer in progress to the task that a new listener gets. */
async function addLive(task: WireTask, { live, known, liveStatus, store }: FeedState): Promise<WireTask> {
  if (!live || live.response === known?.response) return task
  const { response, told } = live
  const artifact = { artifactId: response, parts: await showParts(store, joinPieces(told)) }
  return {
    ...task,
    ...(liveStatus && { status: liveStatus }),
    ...(told.length > 0 && { artifacts: [...(task.artifacts ?? []), artifact] }),
  }
}

async function sendHeldPiece(live: LiveAnswer, mark: ChunkMark, feed: FeedState): Promise<void> {
  const { held, told, response } = live
  if (!held) return
  live.held = undefined
  const parts = await showParts(feed.store, held)
  sendArtifact({ artifactId: response, parts }, { ...(told.length > 0 && { append: true }), ...mark }, feed)
  told.push(...held)
}

function sendArtifact(
  artifact: { readonly artifactId: string; readonly parts: readonly WirePart[] },
  mark: ChunkMark,
  feed: FeedState,
): void {
  sendToAll({ artifactUpdate: { taskId: feed.key.id, contextId: feed.context, artifact, ...mark } }, feed)
}

function sendStatus(status: WireTaskStatus, feed: FeedState): void {
  sendToAll({ statusUpdate: { taskId: feed.key.id, contextId: feed.context, status } }, feed)
}

async function showMessage(
  messageId: string,
  parts: readonly Part[],
  { store, context, key }: FeedState,
): Promise<WireMessage | undefined> {
  if (parts.length === 0) return undefined
  const shown = await showParts(store, parts)
  return { messageId, role: 'ROLE_AGENT', contextId: context, taskId: key.id, parts: shown }
}

function sendWorking(feed: FeedState, message?: WireMessage): void {
  const { known, platform } = feed
  if (known?.state === 'working' && !message) return
  if (known) known.state = 'working'
  const timestamp = isoTime(platform.now())
  feed.liveStatus = { state: wireStateOf.working, timestamp, ...(message && { message }) }
  if (known) sendStatus(feed.liveStatus, feed)
}

async function holdPiece(live: LiveAnswer, parts: readonly Part[], feed: FeedState): Promise<void> {
  await sendHeldPiece(live, {}, feed)
  live.held = parts
  const { count } = live
  const sendIfNewest = () => (live === feed.live && live.count === count ? sendHeldPiece(live, {}, feed) : undefined)
  void feed.platform.sleep(holdMs).then(() => feed.queue(sendIfNewest))
}
