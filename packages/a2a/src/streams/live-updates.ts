import type { Part } from '@postern/core'
import { isoTime } from '@postern/core'
import type { WireMessage, WirePart, WireTask, WireTaskStatus } from '../format/wire.ts'
import { toWireState } from '../format/wire.ts'
import { showParts } from '../render.ts'
import type { FeedState } from './feed-state.ts'
import { sendToAll } from './feed-state.ts'
import type { ChunkNotice, LiveAnswer } from './live-answer.ts'
import { beginLiveAnswer, joinPieces, takeChunk } from './live-answer.ts'

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
export async function addLive(task: WireTask, { live, known, liveStatus, store }: FeedState): Promise<WireTask> {
  if (!live || live.response === known?.response) return task
  const { response, told } = live
  const artifact = { artifactId: response, parts: await showParts(store, joinPieces(told)) }
  return {
    ...task,
    ...(liveStatus && { status: liveStatus }),
    ...(told.length > 0 && { artifacts: [...(task.artifacts ?? []), artifact] }),
  }
}

export async function sendHeldPiece(live: LiveAnswer, mark: ChunkMark, feed: FeedState): Promise<void> {
  const { held, told, response } = live
  if (!held) return
  live.held = undefined
  const parts = await showParts(feed.store, held)
  sendArtifact({ artifactId: response, parts }, { ...(told.length > 0 && { append: true }), ...mark }, feed)
  told.push(...held)
}

export function sendArtifact(
  artifact: { readonly artifactId: string; readonly parts: readonly WirePart[] },
  mark: ChunkMark,
  feed: FeedState,
): void {
  sendToAll({ artifactUpdate: { taskId: feed.key.id, contextId: feed.context, artifact, ...mark } }, feed)
}

export function sendStatus(status: WireTaskStatus, feed: FeedState): void {
  sendToAll({ statusUpdate: { taskId: feed.key.id, contextId: feed.context, status } }, feed)
}

export async function showMessage(
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
  feed.liveStatus = { state: toWireState('working'), timestamp, ...(message && { message }) }
  if (known) sendStatus(feed.liveStatus, feed)
}

async function holdPiece(live: LiveAnswer, parts: readonly Part[], feed: FeedState): Promise<void> {
  await sendHeldPiece(live, {}, feed)
  live.held = parts
  const { count } = live
  const sendIfNewest = () => (live === feed.live && live.count === count ? sendHeldPiece(live, {}, feed) : undefined)
  void feed.platform.sleep(holdMs).then(() => feed.queue(sendIfNewest))
}
