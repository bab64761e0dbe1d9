import { randomUUID } from 'node:crypto'
import type { Entry, Part, Sender } from '@postern/core'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, prepareInsert } from '../engine/database.ts'

/** Only the conversation is recalled. `event`: what else happened in it. `trace`: what was done. `kept`: what no agent sees. `forgotten`: taken back. */
export type StoredEntryScope = 'conversation' | 'event' | 'gateway_reply' | 'trace' | 'kept' | 'forgotten'

/** What a row is: what came to an agent, what the agent answered, what was fetched of what was said before, what was noted of a turn. */
type StoredEntryKind = 'message' | 'response' | 'context' | 'note' | 'removed'

/** Who said it. */
export function roleOf(kind: StoredEntryKind): Entry['role'] {
  return kind === 'message' || kind === 'context' ? 'user' : 'assistant'
}

/** An entry as its columns, made before the transaction. */
export interface StoredEntryDraft {
  readonly nativeId: string
  readonly scope: StoredEntryScope
  readonly kind: StoredEntryKind
  readonly author: string
  readonly content: string
  readonly at: string
}

interface EntryPlace {
  readonly thread: number
  /** The message that it stands behind. */
  readonly answers: number
}

export interface EntryTable {
  /** @returns its seq */
  append(draft: StoredEntryDraft, place: EntryPlace): number
  /** Other words at the same place. */
  reword(seq: number, content: string): void
  /** Takes out all that was said; ids and order stay. */
  erase(seq: number): void
}

/** Takes out all that was said, as the assignments of an UPDATE. */
export const erased = `content = '[]', scope = 'forgotten', author = json_remove(author, '$.display_name')`

export function createEntryTable(db: Sql): EntryTable {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, thread_id, scope, kind, answers, author, content, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const erase = db.prepare(`UPDATE messages SET ${erased} WHERE seq = ?`)
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

const omitted = formatJson([{ kind: 'text', mime: 'text/plain', content: '[too long to be recalled]' }])

/** A column of parts as SQL; what is larger than `maxBytes` is named instead of read, for it may be there many times. */
export function formatBoundedParts(column: string, maxBytes: number): string {
  return `CASE WHEN octet_length(${column}) > ${maxBytes} THEN '${omitted}' ELSE ${column} END AS content`
}

/** As `entryColumns`, but what no usual history has room for is not read. */
export const recalledColumns = `${ownColumns}, ${formatBoundedParts('content', 256 * 1024)},
  CASE WHEN kind = 'message' THEN json_extract(envelope, '$.sender') END AS sender`

export interface EntryRow extends Pick<StoredEntryDraft, 'kind' | 'author' | 'content' | 'at'> {
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
}

export interface RecalledRow extends EntryRow {
  /** JSON of the message's sender; null for what is no message. */
  readonly sender: string | null
}

/** With how its sender was proven, as it was when the message came. */
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
