// Stores the entries of a thread.
import { randomUUID } from 'node:crypto'
import type { Part, Sender } from '@postern/message'
import type { Entry } from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/**
 * The scope of an entry. The history of an agent contains only `conversation`. The other scopes are `event` (other events of the conversation),
 * `gateway_reply` (commands and replies of the gateway), `trace` (notes of turns), `kept` (for no agent) and `forgotten` (deleted).
 */
export type StoredEntryScope = 'conversation' | 'event' | 'gateway_reply' | 'trace' | 'kept' | 'forgotten'

/** The kind of a row. `context` is background of a conversation, and `removed` is a deleted entry. */
type StoredEntryKind = 'message' | 'response' | 'context' | 'note' | 'removed'

/** Returns the role of the author of an entry of this kind. */
export function getRole(kind: StoredEntryKind): Entry['role'] {
  return kind === 'message' || kind === 'context' ? 'user' : 'assistant'
}

/** An entry as the columns of its row, formatted before the transaction begins. */
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
  append(draft: StoredEntryDraft, position: NewEntryPosition): Operation<number>
  /** Replaces the content of an entry, which keeps its position. */
  reword(seq: number, content: string): void
  /** Deletes the content of an entry. Its ids and position stay. */
  erase(seq: number): void
}

/** The assignments of an UPDATE that delete the content of a row. */
export const eraseAssignments = `content = '[]', scope = 'forgotten', author = json_remove(author, '$.display_name')`

export function createEntryTable(db: Sql): EntryTable {
  const insert = db.prepareInsert(
    `INSERT INTO messages (entry_id, native_id, thread_id, scope, kind, answers, author, content, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const erase = db.prepare(`UPDATE messages SET ${eraseAssignments} WHERE seq = ?`)
  const reword = db.prepare('UPDATE messages SET content = ? WHERE seq = ?')
  return {
    reword: (seq, content) => void reword.run(content, seq),
    erase: seq => void erase.run(seq),
    append: ({ nativeId, scope, kind, author, content, at }, { thread, answers }) =>
      insert(randomUUID(), nativeId, thread, scope, kind, answers, author, content, at),
  }
}

const ownColumns = 'seq, entry_id, native_id, kind, author, at'

export const entryColumns = `${ownColumns}, content`

const omittedParts = formatJson([{ kind: 'text', mime: 'text/plain', content: '[too long to be recalled]' }])

/** Formats the SQL of a column of parts. Parts of more than `maxBytes` are replaced by a short text, because many entries may be read at the same time. */
export function formatBoundedParts(column: string, maxBytes: number): string {
  return `CASE WHEN octet_length(${column}) > ${maxBytes} THEN '${omittedParts}' ELSE ${column} END AS content`
}

/** The columns of a `RecalledRow`. Content that is too large for a history is replaced. */
export const recalledColumns = `${ownColumns}, ${formatBoundedParts('content', 256 * 1024)},
  CASE WHEN kind = 'message' THEN json_extract(envelope, '$.sender') END AS sender`

export interface EntryRow extends Pick<StoredEntryDraft, 'kind' | 'author' | 'content' | 'at'> {
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
}

export interface RecalledRow extends EntryRow {
  /** The sender of a message as JSON, or null for other entries. */
  readonly sender: string | null
}

/** Reads an entry with the proofs of its sender at the time of the message. */
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
    role: getRole(row.kind),
    author: parseJson<Entry['author']>(row.author),
    parts: parseJson<readonly Part[]>(row.content),
    at: row.at,
  }
}
