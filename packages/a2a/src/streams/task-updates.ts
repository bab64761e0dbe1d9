import type { NormalizedResponse, TaskRecord } from '@postern/core'
import { isoTime } from '@postern/core'
import type { WireTask } from '../format/wire.ts'
import { isTerminal, toWireState } from '../format/wire.ts'
import { partsMade, showParts, showTask, trimHistory } from '../render.ts'
import { isSettled } from '../tasks/lifetime.ts'
import type { FeedListener, FeedState } from './feed-state.ts'
import { checkIdle, endListener } from './feed-state.ts'
import { addLive, sendArtifact, sendHeldPiece, sendStatus, showMessage } from './live-updates.ts'

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
  sendStatus({ state: toWireState(state), timestamp: isoTime(updatedAt), ...(message && { message }) }, feed)
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
