// Finds what has changed in a task and sends it to the listeners.
import type { NormalizedResponse, Part } from '@postern/message'
import { isoTime } from '@postern/message'
import type { TaskRecord } from '@postern/pipeline'
import { appendParts } from '@postern/pipeline'
import type { WireMessage, WireTask, WireTaskStatus } from '../format/wire.ts'
import { isTerminal, wireStateOf } from '../format/wire.ts'
import type { Made } from '../render.ts'
import {
  knownBytes,
  partsMade,
  partsSaid,
  renderArtifact,
  showParts,
  showTask,
  splitSections,
  trimHistory,
} from '../render.ts'
import { isSettled } from '../tasks/task-waiter.ts'
import type { ChunkNotice, FeedListener, FeedState, LiveAnswer } from './feed-state.ts'
import { beginLiveAnswer, checkIdle, endListener, sendToAll, takeChunk } from './feed-state.ts'

/** The most characters of history in the first event of a stream, because each of many listeners may store one until it is read. */
const maxPastChars = 512 * 1024

/** Sends a new listener the task, or the events that it has missed. */
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

/** Reads the task from the store and sends its changes. */
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

/** Sends the changes of a task if it has ended. */
export async function sendEnd(feed: FeedState): Promise<void> {
  const record = await feed.store.findTask(feed.key)
  if (!record || isTerminal(record.state)) await sendChanges(feed)
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
  const before = feed.last
  feed.last = { state, response: response?.id }
  if (response) feed.answered.add(response.id)
  if (!before) return
  const answer = response?.id === before.response ? undefined : response
  if (!answer && state === before.state) return
  if (answer) await sendMade(answer, feed)
  if (answer || isTerminal(state)) {
    feed.live = undefined
    feed.liveStatus = undefined
  }
  const message = answer && (await showMessage(answer.id, partsSaid(answer), feed))
  sendStatus({ state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) }, feed)
}

/**
 * Sends the rest of a streamed artifact, or the complete artifact. Without a last piece, only the status ends it, because a part must have
 * content.
 */
async function sendMade(answer: NormalizedResponse, feed: FeedState): Promise<void> {
  const parts = partsMade(answer)
  if (parts.length === 0) return
  const { live } = feed
  const isStreamed = live?.response === answer.id && !live.hasGap && (live.held !== undefined || live.told.length > 0)
  const pieces = isStreamed ? live : undefined
  if (!pieces) for (const made of splitSections(answer.id, parts)) await sendArtifact(made, { lastChunk: true }, feed)
  else await sendHeldPiece(pieces, { lastChunk: true }, feed)
}

function isOver({ isOwn }: FeedListener, record: TaskRecord): boolean {
  return isOwn ? isSettled(record) : isTerminal(record.state)
}

/** The time for which the newest piece is held, so that the last one can be marked, ms. */
const holdMs = 20

/** The marks of a chunk. `append` continues the artifact, and `lastChunk` ends it. */
interface ChunkMark {
  readonly append?: true
  readonly lastChunk?: true
}

/** Sends a piece of an answer in progress. A piece of an answer that is stored already is too late, because the listeners have the answer. */
export async function sendNotice(message: number, notice: ChunkNotice, feed: FeedState): Promise<void> {
  if (feed.answered.has(notice.response)) return
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
async function addLive(task: WireTask, { live, last, liveStatus, store }: FeedState): Promise<WireTask> {
  if (!live || live.response === last?.response) return task
  const { response, told } = live
  const parts = told.reduce<readonly Part[]>((before, piece) => appendParts(before, piece), [])
  const bytes = await knownBytes(store, parts)
  const artifacts = splitSections(response, parts).map(made => renderArtifact(made, bytes))
  return {
    ...task,
    ...(liveStatus && { status: liveStatus }),
    ...(told.length > 0 && { artifacts: [...(task.artifacts ?? []), ...artifacts] }),
  }
}

async function sendHeldPiece(live: LiveAnswer, mark: ChunkMark, feed: FeedState): Promise<void> {
  const { held, told, begun, response } = live
  if (!held) return
  live.held = undefined
  for (const made of splitSections(response, held)) {
    await sendArtifact(made, { ...(begun.has(made.id) && { append: true }), ...mark }, feed)
    begun.add(made.id)
  }
  told.push(held)
}

async function sendArtifact(made: Made, mark: ChunkMark, feed: FeedState): Promise<void> {
  const artifact = renderArtifact(made, await knownBytes(feed.store, made.parts))
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
  const { last, system } = feed
  if (last?.state === 'working' && !message) return
  if (last) last.state = 'working'
  const timestamp = isoTime(system.now())
  feed.liveStatus = { state: wireStateOf.working, timestamp, ...(message && { message }) }
  if (last) sendStatus(feed.liveStatus, feed)
}

async function holdPiece(live: LiveAnswer, parts: readonly Part[], feed: FeedState): Promise<void> {
  await sendHeldPiece(live, {}, feed)
  live.held = parts
  const { count } = live
  const sendIfNewest = () => (live === feed.live && live.count === count ? sendHeldPiece(live, {}, feed) : undefined)
  void feed.system.sleep(holdMs).then(() => feed.queue(sendIfNewest))
}
