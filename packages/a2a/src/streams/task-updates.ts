// Sends the changes of a task to its listeners.
import type { NormalizedResponse, Part } from '@postern/message'
import { isoTime } from '@postern/message'
import type { SettledTask } from '@postern/pipeline'
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
const maxHistoryChars = 512 * 1024

/** Sends a new listener the task, or the events that it has missed. */
export async function admitListener(listener: FeedListener, feed: FeedState): Promise<void> {
  const { newListeners: joiningListeners } = feed
  try {
    if (joiningListeners.has(listener)) await sendTask(listener, feed)
  } catch (error) {
    if (joiningListeners.has(listener)) listener.sink.end(error)
  } finally {
    joiningListeners.delete(listener)
    checkIdle(feed)
  }
}

/** Sends the changes of a task. The store is read, unless the notice of the turn's end contains the task and the task is at rest. */
export async function sendChanges(feed: FeedState, noticedTask?: SettledTask): Promise<void> {
  const record = noticedTask && isSettled(noticedTask) ? noticedTask : await feed.store.findTask(feed.key)
  if (!record) {
    for (const listener of feed.listeners) endListener(listener, feed, new Error('the task is gone'))
    return
  }
  await sendDifference(record, feed)
  for (const listener of feed.listeners) {
    if (endsAfter(listener, record)) endListener(listener, feed)
  }
}

/** Sends the changes of a task if it has ended. */
export async function sendEnd(feed: FeedState): Promise<void> {
  const record = await feed.store.findTask(feed.key)
  if (!record || isTerminal(record.state)) await sendChanges(feed)
}

async function sendTask(listener: FeedListener, feed: FeedState): Promise<void> {
  const { store, key, eventLog } = feed
  const record = await store.findTask(key)
  if (!record) throw new Error('the task is gone')
  feed.contextId = record.context
  await sendDifference(record, feed)
  const missedEvents = listener.lastEventId === undefined ? undefined : eventLog.eventsAfter(listener.lastEventId)
  const task = missedEvents
    ? undefined
    : await addLiveAnswer(trimHistory(await showTask(store, record, listener.view), maxHistoryChars), feed)
  if (!feed.newListeners.has(listener)) return
  const firstEvents = missedEvents ?? [{ id: eventLog.currentPosition(), event: { task: task as WireTask } }]
  for (const { event, id } of firstEvents) listener.sink.send(event, id)
  if (endsAfter(listener, record)) listener.sink.end()
  else feed.listeners.add(listener)
}

async function sendDifference({ state, response, updatedAt }: SettledTask, feed: FeedState): Promise<void> {
  const previouslySent = feed.sentState
  feed.sentState = { state, response: response?.id }
  if (response) feed.sentAnswerIds.add(response.id)
  if (!previouslySent) return
  const answer = response?.id === previouslySent.response ? undefined : response
  if (!answer && state === previouslySent.state) return
  if (answer) await sendArtifacts(answer, feed)
  if (answer || isTerminal(state)) {
    feed.liveAnswer = undefined
    feed.liveStatus = undefined
  }
  const message = answer && (await showMessage(answer.id, listStatusParts(answer), feed))
  sendStatus({ state: wireStateOf[state], timestamp: isoTime(updatedAt), ...(message && { message }) }, feed)
}

/**
 * Sends the last piece of a streamed artifact, or the complete artifact. If no piece is pending, only the status ends the artifact, because a part
 * must have content.
 */
async function sendArtifacts(answer: NormalizedResponse, feed: FeedState): Promise<void> {
  const parts = listArtifactParts(answer)
  if (parts.length === 0) return
  const { liveAnswer } = feed
  const isStreamed =
    liveAnswer?.response === answer.id &&
    !liveAnswer.hasGap &&
    (liveAnswer.pendingPiece !== undefined || liveAnswer.sentPieces.length > 0)
  const pieces = isStreamed ? liveAnswer : undefined
  if (!pieces)
    for (const artifact of splitSections(answer.id, parts)) await sendArtifact(artifact, { lastChunk: true }, feed)
  else await sendPendingPiece(pieces, { lastChunk: true }, feed)
}

function endsAfter({ isMessageStream }: FeedListener, record: SettledTask): boolean {
  return isMessageStream ? isSettled(record) : isTerminal(record.state)
}

/** The time for which the newest piece waits, so that the last piece of an answer has `lastChunk`, ms. */
const postponeMs = 20

/** The flags of a chunk. `append` continues the artifact, and `lastChunk` ends it. */
interface ChunkFlags {
  readonly append?: true
  readonly lastChunk?: true
}

/** Sends a piece of an answer in progress. A piece that arrives after its answer is stored is ignored, because the listeners have the answer. */
export async function sendNotice(message: number, notice: ChunkNotice, feed: FeedState): Promise<void> {
  if (feed.sentAnswerIds.has(notice.response)) return
  if (notice.index === 0) {
    feed.liveAnswer = beginLiveAnswer(message, notice)
    feed.liveStatus = undefined
  }
  const { liveAnswer } = feed
  const meaning = liveAnswer?.message === message ? acceptChunk(liveAnswer, notice) : undefined
  if (!liveAnswer || !meaning) return
  if (meaning.kind === 'interim') return sendWorking(feed, await showMessage(meaning.id, meaning.parts, feed))
  sendWorking(feed)
  if (meaning.kind === 'piece') await postponePiece(liveAnswer, meaning.parts, feed)
}

/** Adds an answer in progress to the task that a new listener gets. */
async function addLiveAnswer(
  task: WireTask,
  { liveAnswer, sentState: lastSent, liveStatus, store }: FeedState,
): Promise<WireTask> {
  if (!liveAnswer || liveAnswer.response === lastSent?.response) return task
  const { response, sentPieces } = liveAnswer
  const parts = sentPieces.reduce<readonly Part[]>((earlierParts, piece) => appendParts(earlierParts, piece), [])
  const bytes = await loadBytes(store, parts)
  const artifacts = splitSections(response, parts).map(artifact => renderArtifact(artifact, bytes))
  return {
    ...task,
    ...(liveStatus && { status: liveStatus }),
    ...(sentPieces.length > 0 && { artifacts: [...(task.artifacts ?? []), ...artifacts] }),
  }
}

async function sendPendingPiece(liveAnswer: LiveAnswer, mark: ChunkFlags, feed: FeedState): Promise<void> {
  const { pendingPiece: heldPiece, sentPieces, startedArtifacts, response } = liveAnswer
  if (!heldPiece) return
  liveAnswer.pendingPiece = undefined
  for (const artifact of splitSections(response, heldPiece)) {
    await sendArtifact(artifact, { ...(startedArtifacts.has(artifact.id) && { append: true }), ...mark }, feed)
    startedArtifacts.add(artifact.id)
  }
  sentPieces.push(heldPiece)
}

async function sendArtifact(producedArtifact: ProducedArtifact, mark: ChunkFlags, feed: FeedState): Promise<void> {
  const artifact = renderArtifact(producedArtifact, await loadBytes(feed.store, producedArtifact.parts))
  sendToAll({ artifactUpdate: { taskId: feed.key.id, contextId: feed.contextId, artifact, ...mark } }, feed)
}

function sendStatus(status: WireTaskStatus, feed: FeedState): void {
  sendToAll({ statusUpdate: { taskId: feed.key.id, contextId: feed.contextId, status } }, feed)
}

async function showMessage(
  messageId: string,
  parts: readonly Part[],
  { store, contextId, key }: FeedState,
): Promise<WireMessage | undefined> {
  if (parts.length === 0) return undefined
  const wireParts = await showParts(store, parts)
  return { messageId, role: 'ROLE_AGENT', contextId, taskId: key.id, parts: wireParts }
}

function sendWorking(feed: FeedState, message?: WireMessage): void {
  const { sentState: lastSent, system } = feed
  if (lastSent?.state === 'working' && !message) return
  if (lastSent) lastSent.state = 'working'
  const timestamp = isoTime(system.now())
  feed.liveStatus = { state: wireStateOf.working, timestamp, ...(message && { message }) }
  if (lastSent) sendStatus(feed.liveStatus, feed)
}

async function postponePiece(liveAnswer: LiveAnswer, parts: readonly Part[], feed: FeedState): Promise<void> {
  await sendPendingPiece(liveAnswer, {}, feed)
  liveAnswer.pendingPiece = parts
  const { count } = liveAnswer
  const sendIfNewest = () =>
    liveAnswer === feed.liveAnswer && liveAnswer.count === count ? sendPendingPiece(liveAnswer, {}, feed) : undefined
  void feed.system.sleep(postponeMs).then(() => feed.queue(sendIfNewest))
}
