import type { ChannelName, Json, NormalizedMessage, Part, TaskKey } from '@postern/core'
import { createRawAttacher } from '../blobs/raw.ts'
import type { FirstMessage } from '../engine/batch.ts'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'

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
export function toStoredMessage(
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
