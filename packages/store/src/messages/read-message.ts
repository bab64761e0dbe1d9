// Reads a stored message.
import type { ChannelName, Json, NormalizedMessage, Part } from '@postern/message'
import type { TaskKey } from '@postern/pipeline'
import type { BlobFiles } from '../files/blob-files.ts'
import { parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { publicIdOf } from '../threads/threads.ts'
import type { FirstMessage } from '../transaction/first-message.ts'
import { createRawAttacher, defineRaw } from './raw-content.ts'
import { storedReaderKey } from './stored-reader.ts'

/** A message as it was admitted. It never changes. */
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

/** The content of the column `envelope`. */
export type StoredEnvelope = Omit<NormalizedMessage, 'thread_id' | 'thread_source' | 'parts' | 'raw' | 'history'>

/** The row of the statement in `createMessageReader`. */
export type MessageRow = Omit<FirstMessage, 'raw'>

/** Reads a message. @throws Error if there is no message with this number */
export type ReadMessage = (number: number) => Operation<StoredMessage>

export function createMessageReader(db: Sql, files: Pick<BlobFiles, 'readNow'>): ReadMessage {
  const attachRaw = createRawAttacher(db, files)
  const find = db.prepare<MessageRow>(
    `SELECT m.agent, m.channel, m.thread_id, t.key, t.public_id, m.envelope, m.content, m.flags, m.target,
       m.correlation_id, k.owner, k.native_id
     FROM messages m JOIN threads t ON t.id = m.thread_id
       LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.seq = ? AND m.kind = 'message'`,
  )
  return function* (number) {
    const row = yield* find.get(number)
    if (!row) throw new Error(`there is no message ${number}`)
    return toStoredMessage(number, row, content => attachRaw(number, content))
  }
}

/** Builds a message from its row. `attachRaw` adds its member `raw`. */
export function toStoredMessage(
  number: number,
  row: MessageRow,
  attachRaw: (message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage,
): StoredMessage {
  const content = attachRaw(readContent(row))
  const readStored = () => defineRaw(readContent(row), () => content.raw)
  Object.defineProperty(content, storedReaderKey, { value: readStored, configurable: true })
  return {
    number,
    agent: row.agent,
    via: row.channel,
    thread: row.thread_id,
    content,
    flags: row.flags === null ? [] : parseJson(row.flags),
    target: parseJson(row.target),
    correlationId: row.correlation_id,
    task: readTaskKey(row),
  }
}

function readContent({ envelope, key, public_id, content }: MessageRow): Omit<NormalizedMessage, 'raw'> {
  const { id, in_reply_to, sender, recipient, ...otherMembers } = parseJson<StoredEnvelope>(envelope)
  const thread = { thread_id: publicIdOf({ key, public_id }), thread_source: key }
  const addressed = { id, ...thread, ...(in_reply_to !== undefined && { in_reply_to }), sender, recipient }
  // The thread's own names come last, so that no member of the envelope replaces them.
  return { ...addressed, parts: parseJson<Part[]>(content), ...otherMembers, ...thread }
}

export function readTaskKey(row: {
  readonly owner: string | null
  readonly native_id: string | null
}): TaskKey | undefined {
  return row.owner === null || row.native_id === null ? undefined : { owner: row.owner, id: row.native_id }
}
