// Stores the entries of a thread.
import { randomUUID } from 'node:crypto'
import type { Part, Sender } from '@postern/message'
import type { Entry } from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import { prepareInsert } from '../sql/prepare-insert.ts'
import type { Sql } from '../sql/sql.ts'

/**
 * The scope of an entry. Agents recall only `conversation`. The others are `event` (other events in it), `gateway_reply` (commands and replies of the
 * gateway), `trace` (notes of turns), `kept` (seen by no agent) and `forgotten` (deleted).
 */
export type StoredEntryScope = 'conversation' | 'event' | 'gateway_reply' | 'trace' | 'kept' | 'forgotten'

/** The kind of a row: a message to an agent, its response, background of a conversation, a note of a turn, or a deleted entry. */
type StoredEntryKind = 'message' | 'response' | 'context' | 'note' | 'removed'

/** Returns the author of an entry of this kind. */
export function roleOf(kind: StoredEntryKind): Entry['role'] {
  return kind === 'message' || kind === 'context' ? 'user' : 'assistant'
}

/** An entry as its columns. It is formatted before the transaction. */
export interface StoredEntryDraft {
  readonly nativeId: string
  readonly scope: StoredEntryScope
  readonly kind: StoredEntryKind
  readonly author: string
  readonly content: string
  readonly at: string
}

interface NewEntryPosition {
  readonly thread: number
  /** The message after which the entry stands. */
  readonly answers: number
}

export interface EntryTable {
  /** Inserts a row and returns its seq. */
  append(draft: StoredEntryDraft, position: NewEntryPosition): number
  /** Replaces the content of an entry, which keeps its position. */
  reword(seq: number, content: string): void
  /** Deletes the content of an entry. Its ids and position stay. */
  erase(seq: number): void
}

/** Assignments of an UPDATE that delete the content of a row. */
export const eraseAssignments = `content = '[]', scope = 'forgotten', author = json_remove(author, '$.display_name')`

export function createEntryTable(db: Sql): EntryTable {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, thread_id, scope, kind, answers, author, content, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const erase = db.prepare(`UPDATE messages SET ${eraseAssignments} WHERE seq = ?`)
  const reword = db.prepare('UPDATE messages SET content = ? WHERE seq = ?')
  return {
    reword: (seq, content) => void reword.run(content, seq),
    erase: seq => void erase.run(seq),
    append({ nativeId, scope, kind, author, content, at }, { thread, answers }) {
      return insert(randomUUID(), nativeId, thread, scope, kind, answers, author, content, at)
    },
  }
}

const ownColumns = 'seq, entry_id, native_id, kind, author, at'

export const entryColumns = `${ownColumns}, content`

const omittedParts = formatJson([{ kind: 'text', mime: 'text/plain', content: '[too long to be recalled]' }])

/** Formats a column of parts as SQL. Parts of more than `maxBytes` are named instead of read, because there may be many of them. */
export function formatBoundedParts(column: string, maxBytes: number): string {
  return `CASE WHEN octet_length(${column}) > ${maxBytes} THEN '${omittedParts}' ELSE ${column} END AS content`
}

/** Columns of `entryColumns` without content that is too large for a usual history. */
export const recalledColumns = `${ownColumns}, ${formatBoundedParts('content', 256 * 1024)},
  CASE WHEN kind = 'message' THEN json_extract(envelope, '$.sender') END AS sender`

export interface EntryRow extends Pick<StoredEntryDraft, 'kind' | 'author' | 'content' | 'at'> {
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
}

export interface RecalledRow extends EntryRow {
  /** The sender of a message as JSON; null for other entries. */
  readonly sender: string | null
}

/** Returns an entry with the proof of its sender at the time of the message. */
export function recallRow(row: RecalledRow): Entry {
  const entry = readEntry(row)
  if (row.sender === null) return entry
  const { verified, auth_method, identities } = parseJson<Sender>(row.sender)
  return { ...entry, author: { ...entry.author, verified, auth_method, ...(identities && { identities }) } }
}

export function readEntry(row: EntryRow): Entry {
  return {
    seq: row.seq,
    entryId: row.entry_id,
    nativeId: row.native_id ?? undefined,
    role: roleOf(row.kind),
    author: parseJson<Entry['author']>(row.author),
    parts: parseJson<readonly Part[]>(row.content),
    at: row.at,
  }
}
