// Finds what has changed in a task and sends it to the listeners.
import type { NormalizedResponse, Part } from '@postern/message'
import { isoTime } from '@postern/message'
import type { TaskRecord } from '@postern/pipeline'
import { appendParts } from '@postern/pipeline'
import type { WireMessage, WireTask, WireTaskStatus } from '../format/wire.ts'
import { isTerminal, wireStateOf } from '../format/wire.ts'
import type { ProducedArtifact } from '../render.ts'
import {
  listArtifactParts,
  listStatusParts,
  loadBytes,
  renderArtifact,
  showParts,
  showTask,
  splitSections,
  trimHistory,
} from '../render.ts'
import { isSettled } from '../tasks/task-waiter.ts'
import type { ChunkNotice, FeedListener, FeedState, LiveAnswer } from './feed-state.ts'
import { acceptChunk, beginLiveAnswer, checkIdle, endListener, sendToAll } from './feed-state.ts'

/** The most characters of history in the first event of a stream, because each of many listeners may store one until it is read. */
const maxPastChars = 512 * 1024

/** Sends a new listener the task, or the events that it has missed. */
export async function admitListener(listener: FeedListener, feed: FeedState): Promise<void> {
  const { joining } = feed
  try {
    if (joining.has(listener)) await sendFirst(listener, feed)
  } catch (error) {
    if (joining.has(listener)) listener.sink.end(error)
  } finally {
    joining.delete(listener)
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
  const { store, key, eventLog } = feed
  const record = await store.findTask(key)
  if (!record) throw new Error('the task is gone')
  feed.context = record.context
  await sendDifference(record, feed)
  const missedEvents = listener.after === undefined ? undefined : eventLog.after(listener.after)
  const task = missedEvents
    ? undefined
    : await addLive(trimHistory(await showTask(store, record, listener.view), maxPastChars), feed)
  if (!feed.joining.has(listener)) return
  const first = missedEvents ?? [{ id: eventLog.here(), event: { task: task as WireTask } }]
  for (const { event, id } of first) listener.sink.send(event, id)
  if (isOver(listener, record)) listener.sink.end()
  else feed.listeners.add(listener)
}

async function sendDifference({ state, response, updatedAt }: TaskRecord, feed: FeedState): Promise<void> {
  const before = feed.last
  feed.last = { state, response: response?.id }
  if (response) feed.sentAnswerIds.add(response.id)
  if (!before) return
  const answer = response?.id === before.response ? undefined : response
  if (!answer && state === before.state) return
  if (answer) await sendArtifacts(answer, feed)
  if (answer || isTerminal(state)) {
    feed.live = undefined
    feed.liveStatus = undefined
  }
  const message = answer && (await showMessage(answer.id, listStatusParts(answer), feed))
  sendStatus({ state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) }, feed)
}

/**
 * Sends the rest of a streamed artifact, or the complete artifact. Without a last piece, only the status ends it, because a part must have
 * content.
 */
async function sendArtifacts(answer: NormalizedResponse, feed: FeedState): Promise<void> {
  const parts = listArtifactParts(answer)
  if (parts.length === 0) return
  const { live } = feed
  const isStreamed =
    live?.response === answer.id && !live.hasGap && (live.heldPiece !== undefined || live.sentPieces.length > 0)
  const pieces = isStreamed ? live : undefined
  if (!pieces)
    for (const artifact of splitSections(answer.id, parts)) await sendArtifact(artifact, { lastChunk: true }, feed)
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
  if (feed.sentAnswerIds.has(notice.response)) return
  if (notice.index === 0) {
    feed.live = beginLiveAnswer(message, notice)
    feed.liveStatus = undefined
  }
  const { live } = feed
  const meaning = live?.message === message ? acceptChunk(live, notice) : undefined
  if (!live || !meaning) return
  if (meaning.kind === 'interim') return sendWorking(feed, await showMessage(meaning.id, meaning.parts, feed))
  sendWorking(feed)
  if (meaning.kind === 'piece') await postponePiece(live, meaning.parts, feed)
}

/** Adds an answer in progress to the task that a new listener gets. */
async function addLive(task: WireTask, { live, last, liveStatus, store }: FeedState): Promise<WireTask> {
  if (!live || live.response === last?.response) return task
  const { response, sentPieces } = live
  const parts = sentPieces.reduce<readonly Part[]>((before, piece) => appendParts(before, piece), [])
  const bytes = await loadBytes(store, parts)
  const artifacts = splitSections(response, parts).map(artifact => renderArtifact(artifact, bytes))
  return {
    ...task,
    ...(liveStatus && { status: liveStatus }),
    ...(sentPieces.length > 0 && { artifacts: [...(task.artifacts ?? []), ...artifacts] }),
  }
}

async function sendHeldPiece(live: LiveAnswer, mark: ChunkMark, feed: FeedState): Promise<void> {
  const { heldPiece, sentPieces, startedArtifacts, response } = live
  if (!heldPiece) return
  live.heldPiece = undefined
  for (const artifact of splitSections(response, heldPiece)) {
    await sendArtifact(artifact, { ...(startedArtifacts.has(artifact.id) && { append: true }), ...mark }, feed)
    startedArtifacts.add(artifact.id)
  }
  sentPieces.push(heldPiece)
}

async function sendArtifact(made: ProducedArtifact, mark: ChunkMark, feed: FeedState): Promise<void> {
  const artifact = renderArtifact(made, await loadBytes(feed.store, made.parts))
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
  const wireParts = await showParts(store, parts)
  return { messageId, role: 'ROLE_AGENT', contextId: context, taskId: key.id, parts: wireParts }
}

function sendWorking(feed: FeedState, message?: WireMessage): void {
  const { last, system } = feed
  if (last?.state === 'working' && !message) return
  if (last) last.state = 'working'
  const timestamp = isoTime(system.now())
  feed.liveStatus = { state: wireStateOf.working, timestamp, ...(message && { message }) }
  if (last) sendStatus(feed.liveStatus, feed)
}

async function postponePiece(live: LiveAnswer, parts: readonly Part[], feed: FeedState): Promise<void> {
  await sendHeldPiece(live, {}, feed)
  live.heldPiece = parts
  const { count } = live
  const sendIfNewest = () => (live === feed.live && live.count === count ? sendHeldPiece(live, {}, feed) : undefined)
  void feed.system.sleep(holdMs).then(() => feed.queue(sendIfNewest))
}
