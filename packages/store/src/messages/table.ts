import { isUtf8 } from 'node:buffer'
import { hash, randomUUID } from 'node:crypto'
import type {
  Blob,
  ChannelName,
  Intake,
  Json,
  NormalizedMessage,
  Part,
  ProofKey,
  QueueMode,
  TaskKey,
} from '@postern/core'
import { identifySpeaker } from '@postern/core'
import type { StoredEntryDraft, StoredEntryScope } from '../conversations/entries.ts'
import type { PlacedThread } from '../conversations/threads.ts'
import { viaOf } from '../conversations/threads.ts'
import type { BlobFiles } from '../engine/blob-files.ts'
import type { Batch, FirstMessage, Sql } from '../engine/database.ts'
import { formatJson, parseJson, prepareInsert } from '../engine/database.ts'

interface MessagePosition {
  readonly thread: number
  readonly task: number | undefined
  readonly scope: StoredEntryScope
  /** Now, ms. */
  readonly at: number
}

/** Inserts a message with all its columns. @returns its seq */
type InsertMessage = (draft: MessageDraft, position: MessagePosition) => number

export function createMessageInserter(db: Sql): InsertMessage {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, agent, channel, at, duplicate_key, fingerprint,
       correlation_id, principal, object, author, proofs, trace, arrival, flags, target, raw_form, raw_digest, envelope, content, raw)
     VALUES (?, ?, 'message', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  return (draft, { thread, task, scope, at }) => {
    const { agent, message, duplicateKey, fingerprint, raw, authorship } = draft.intake
    return insert(
      randomUUID(),
      message.id,
      scope,
      thread,
      task ?? null,
      agent,
      viaOf(draft.intake),
      draft.entry.at,
      duplicateKey,
      fingerprint ?? null,
      draft.correlationId,
      authorship?.author ?? null,
      authorship?.object ?? null,
      draft.entry.author,
      draft.proofs,
      stampTrace(draft.trace, at),
      draft.arrival,
      formatFlags(draft),
      draft.target,
      raw.form,
      draft.rawBlob?.digest ?? null,
      draft.envelope,
      draft.entry.content,
      draft.rawBlob ? null : raw.bytes,
    )
  }
}

/** The last member is known only within the transaction; the rest is written before it. */
function stampTrace(trace: string, at: number): string {
  return `${trace.slice(0, -1)},"admitted_at":${at}}`
}

/** An intake as its columns, made before the transaction so that it holds only statements. */
export interface MessageDraft {
  readonly intake: Intake
  readonly correlationId: string
  readonly entry: Pick<StoredEntryDraft, 'author' | 'content' | 'at'>
  readonly envelope: string
  readonly proofs: string
  /** Its way in, but for the moment at which it is stored. */
  readonly trace: string
  /** What came beside the raw bytes. */
  readonly arrival: string | null
  readonly flags: readonly string[]
  readonly target: string
  readonly lane: QueuePosition | undefined
  /** The raw bytes, when they are too large for the row. */
  readonly rawBlob: Blob | undefined
  readonly blobs: readonly Blob[]
  /** Keys that may not be stored yet. */
  readonly proofKeys: readonly ProofKey[]
}

export function draftIntake(
  intake: Intake,
  correlationId: string,
  { rawBlob, proofKeys = [] }: Partial<Pick<MessageDraft, 'rawBlob' | 'proofKeys'>> = {},
): MessageDraft {
  const { thread_id: _, parts, ...envelope } = intake.message
  return {
    intake,
    correlationId,
    entry: {
      author: formatJson({ address: envelope.sender.address, display_name: envelope.sender.display_name }),
      content: formatParts(parts),
      at: envelope.received_at,
    },
    envelope: formatJson(envelope),
    proofs: formatJson(intake.proofs),
    trace: formatJson(intake.trace ?? { received_at: Date.parse(envelope.received_at), steps: [] }),
    arrival: intake.arrival === undefined ? null : formatJson(intake.arrival),
    flags: intake.flags ?? [],
    target: formatJson(intake.target),
    lane: draftQueueMode(intake),
    rawBlob,
    proofKeys,
    blobs: [...(intake.blobs ?? []), ...(rawBlob ? [rawBlob] : [])],
  }
}

function draftQueueMode(intake: Intake): QueuePosition | undefined {
  const speaker = intake.lane && identifySpeaker(intake)
  return intake.lane && speaker !== undefined
    ? { ...intake.lane, speaker: hash('sha256', speaker, 'base64') }
    : undefined
}

/** Written once for all agents that one message came to. */
const writtenParts = new WeakMap<readonly Part[], string>()

function formatParts(parts: readonly Part[]): string {
  const content = writtenParts.get(parts) ?? formatJson(parts)
  writtenParts.set(parts, content)
  return content
}

/** What is forgotten gets its flag when it is. */
export function addFlag(draft: MessageDraft, flag: string | undefined): MessageDraft {
  return !flag || flag === 'deleted' || draft.flags.includes(flag) ? draft : { ...draft, flags: [...draft.flags, flag] }
}

/** As a column has them. */
function formatFlags({ flags }: Pick<MessageDraft, 'flags'>): string | null {
  return flags.length > 0 ? formatJson(flags) : null
}

/** Bytes of its words and of what arrived, as far as they are in its rows. */
export function sizeOf({ entry, intake, rawBlob }: MessageDraft): number {
  return Buffer.byteLength(entry.content) + (rawBlob ? 0 : intake.raw.bytes.byteLength)
}

/** How a turn stands in its line; `speaker`: digest of who is meant by "the same sender". */
export interface QueuePosition extends QueueMode {
  readonly speaker: string
}

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

export function createMessageReader(db: Sql, files: Pick<BlobFiles, 'readNow'>): ReadMessage {
  const attachRaw = createRawAttacher(db, files)
  const find = db.prepare<MessageRow>(
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

/** Agents may change what they get: what makes a message anew. */
const asStored = Symbol('as stored')

interface ReadAgain {
  [asStored]?: (() => NormalizedMessage) | undefined
}

/** What makes a message anew, as it stands in its row; undefined for one that was put together, or whose row has changed. */
export function findStoredWords(message: NormalizedMessage): (() => NormalizedMessage) | undefined {
  return (message as ReadAgain)[asStored]
}

/** The row of a message has changed. */
export function forgetStoredWords(message: NormalizedMessage): void {
  Object.defineProperty(message, asStored, { value: undefined })
}

/** `attachRaw` gives it its member `raw`. */
function toStoredMessage(
  number: number,
  row: MessageRow,
  attachRaw: (message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage,
): StoredMessage {
  const content = attachRaw(readContent(row))
  const readAgain = () => defineRaw(readContent(row), () => content.raw)
  Object.defineProperty(content, asStored, { value: readAgain, configurable: true })
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

type RawForm = Intake['raw']['form']

interface RawRow {
  readonly raw_form: RawForm
  readonly bytes: Uint8Array | null
  /** Digest of bytes that lie in a file. */
  readonly file: string | null
}

/** A message without its `raw` → the message whose `raw` is rebuilt from the stored bytes when it is first read. */
type AttachRaw = (number: number, message: Omit<NormalizedMessage, 'raw'>) => NormalizedMessage

function createRawAttacher(db: Sql, { readNow }: Pick<BlobFiles, 'readNow'>): AttachRaw {
  const find = db.prepare<RawRow>(
    `SELECT m.raw_form, coalesce(m.raw, b.bytes) AS bytes, CASE WHEN b.is_file = 1 THEN b.digest END AS file
     FROM messages m LEFT JOIN blobs b ON b.digest = m.raw_digest WHERE m.seq = ?`,
  )
  const load = (number: number) => {
    const row = find.get(number)
    if (!row?.bytes) return undefined
    return decodeRaw(row.file === null ? row.bytes : readNow(row.file), row.raw_form)
  }
  return (number, message) => defineRaw(message, () => load(number))
}

/** As `AttachRaw`, of bytes that are at hand. */
function attachRawBytes(message: Omit<NormalizedMessage, 'raw'>, { bytes, form }: Intake['raw']): NormalizedMessage {
  return defineRaw(message, () => decodeRaw(bytes, form))
}

function defineRaw(message: Omit<NormalizedMessage, 'raw'>, load: () => unknown): NormalizedMessage {
  return Object.defineProperty(message, 'raw', rememberFirst(load)) as NormalizedMessage
}

function rememberFirst(load: () => unknown): PropertyDescriptor {
  let loaded: { readonly raw: unknown } | undefined
  const get = () => {
    loaded ??= { raw: load() }
    return loaded.raw
  }
  return { get, enumerable: true, configurable: true }
}

/** Mail may hold octets of any charset: what is no UTF-8 is shown octet by octet. */
function decodeRaw(bytes: Uint8Array, form: RawForm): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString(isUtf8(buffer) ? 'utf8' : 'latin1')
  return form === 'json' ? parseJson(text.replace(/^\uFEFF/, '')) : text
}
