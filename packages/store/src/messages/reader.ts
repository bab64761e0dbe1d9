import type { ChannelName, Json, NormalizedMessage, Part, TaskKey } from '@postern/core'
import { attachRawBytes, createRawAttacher } from '../blobs/table.ts'
import type { PlacedThread } from '../conversations/threads.ts'
import { viaOf } from '../conversations/threads.ts'
import type { Batch, FirstMessage } from '../engine/batch.ts'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'
import type { MessageDraft } from './insert.ts'
import { formatFlags, sizeOf } from './insert.ts'

/** A message as it was admitted; nothing of it ever changes. */
export interface StoredMessage {
  readonly number: number
  readonly agent: string
  readonly via: ChannelName
  readonly thread: number
  readonly content: NormalizedMessage
  readonly flags: readonly string[]
  readonly target: Json
  readonly correlationId: string
  readonly task: TaskKey | undefined
}

/** What `envelope` holds. */
export type StoredEnvelope = Omit<NormalizedMessage, 'thread_id' | 'parts' | 'raw' | 'history'>

/** As the statement below reads it. */
export type MessageRow = Omit<FirstMessage, 'raw'>

/** @throws Error when there is no message of this number */
export type ReadMessage = (number: number) => StoredMessage

export function createMessageReader(db: Database, files: Pick<BlobFiles, 'readNow'>): ReadMessage {
  const attachRaw = createRawAttacher(db, files)
  const find = prepareQuery<MessageRow>(
    db,
    `SELECT m.agent, m.channel, m.thread_id, t.key, m.envelope, m.content, m.flags, m.target,
       m.correlation_id, k.owner, k.native_id
     FROM messages m JOIN threads t ON t.id = m.thread_id
       LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.seq = ? AND m.kind = 'message'`,
  )
  return number => {
    const row = find.get(number)
    if (!row) throw new Error(`there is no message ${number}`)
    return toStoredMessage(number, row, content => attachRaw(number, content))
  }
}

/** `attachRaw` gives it its member `raw`. */
function toStoredMessage(
  number: number,
  row: MessageRow,
  attachRaw: (message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage,
): StoredMessage {
  return {
    number,
    agent: row.agent,
    via: row.channel,
    thread: row.thread_id,
    content: attachRaw(readContent(row)),
    flags: row.flags === null ? [] : parseJson(row.flags),
    target: parseJson(row.target),
    correlationId: row.correlation_id,
    task: readTaskKey(row),
  }
}

function readContent({ envelope, key, content }: MessageRow): Omit<NormalizedMessage, 'raw'> {
  const { id, in_reply_to, sender, recipient, ...rest } = parseJson<StoredEnvelope>(envelope)
  const addressed = { id, thread_id: key, ...(in_reply_to !== undefined && { in_reply_to }), sender, recipient }
  return { ...addressed, parts: parseJson<Part[]>(content), ...rest }
}

export function readTaskKey(row: {
  readonly owner: string | null
  readonly native_id: string | null
}): TaskKey | undefined {
  return row.owner === null || row.native_id === null ? undefined : { owner: row.owner, id: row.native_id }
}

/** Messages that have begun their threads a moment ago: whoever takes their turn need not read them back. */
export interface FirstMessages {
  /** To be called once they are committed: until then another row may get their number. */
  keep(messages: Batch['firstMessages']): void
  /** As it came: its words may have changed since. `batch`: of this transaction. Undefined: it has to be read. */
  find(batch: Pick<Batch, 'firstMessages'>, message: number): StoredMessage | undefined
}

/** How many are kept at most, and of how many bytes each. */
const [mostKept, mostBytes] = [256, 16_384]

export function createFirstMessages(): FirstMessages {
  const kept = new Map<number, FirstMessage>()
  return {
    keep(messages) {
      for (const [message, first] of messages) {
        // A number may have been another message's, which is gone.
        if (first) kept.set(message, first)
        else kept.delete(message)
      }
      for (const oldest of kept.keys()) {
        if (kept.size <= mostKept) break
        kept.delete(oldest)
      }
    },
    find(batch, message) {
      const { firstMessages } = batch
      const first = firstMessages.has(message) ? firstMessages.get(message) : kept.get(message)
      return first && readFirst(message, first)
    },
  }
}

/** The message as its reader would find it. */
function readFirst(message: number, first: FirstMessage): StoredMessage {
  return toStoredMessage(message, first, content => attachRawBytes(content, first.raw))
}

export interface NotedMessage extends PlacedThread {
  readonly message: number
  readonly isOfTask: boolean
}

/** Notes a message that has a turn, for whoever takes it: its row, if the message has begun its thread and is not too large to be kept. */
export function noteFirst(batch: Batch, draft: MessageDraft, { message, thread, key, isOfTask }: NotedMessage): void {
  const isKept = key !== undefined && isSmall(draft)
  batch.firstMessages.set(message, isKept ? toFirstMessage(draft, { thread, key, isOfTask }) : undefined)
}

/** Whether it is small enough to be kept until its turn begins. */
export function isSmall(draft: MessageDraft): boolean {
  return !draft.rawBlob && sizeOf(draft) <= mostBytes
}

/** A message that begins its thread, as a worker has it whom its turn begins at once. */
export function toStoredFirst(
  draft: MessageDraft,
  { message, thread, key = '', isOfTask }: NotedMessage,
): StoredMessage {
  return readFirst(message, toFirstMessage(draft, { thread, key, isOfTask }))
}

function toFirstMessage(
  draft: MessageDraft,
  { thread, key, isOfTask }: Pick<NotedMessage, 'thread' | 'isOfTask'> & { readonly key: string },
): FirstMessage {
  const { intake, correlationId, envelope, entry, target } = draft
  const task = isOfTask ? intake.task : undefined
  return {
    agent: intake.agent,
    channel: viaOf(intake),
    thread_id: thread,
    key,
    envelope,
    content: entry.content,
    flags: formatFlags(draft),
    target,
    correlation_id: correlationId,
    owner: task?.owner ?? null,
    native_id: task?.id ?? null,
    raw: intake.raw,
  }
}
