import { randomUUID } from 'node:crypto'
import type { Entry, NormalizedResponse, Part, Sender } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { formatJson, parseJson, prepareInsert, prepareQuery } from '../engine/database.ts'

/** Only the conversation is recalled. `event`: what else happened in it. `trace`: what was done. `kept`: what no agent sees. `forgotten`: taken back. */
export type StoredEntryScope = 'conversation' | 'event' | 'gateway_reply' | 'trace' | 'kept' | 'forgotten'

/** An entry as its columns, made before the transaction. */
export interface StoredEntryDraft {
  readonly nativeId: string
  readonly scope: StoredEntryScope
  readonly role: Entry['role']
  readonly author: string
  readonly content: string
  readonly at: string
}

interface EntryPlace {
  readonly thread: number
  readonly task: number | undefined
  /** The message this answers. */
  readonly answers?: number | undefined
}

export interface EntryTable {
  /** @returns its seq */
  append(draft: StoredEntryDraft, place: EntryPlace): number
  /** Other words at the same place. */
  reword(seq: number, content: string): void
  /** Takes out all that was said; ids and order stay. */
  erase(seq: number): void
}

export function createEntryTable(db: Database): EntryTable {
  const insert = prepareInsert(
    db,
    `INSERT INTO entries (entry_id, native_id, thread_id, task_id, scope, role, answers, author, content, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  const erase = prepareQuery(
    db,
    "UPDATE entries SET content = '[]', scope = 'forgotten', author = json_remove(author, '$.display_name') WHERE seq = ?",
  )
  const reword = prepareQuery(db, 'UPDATE entries SET content = ? WHERE seq = ?')
  return {
    reword: (seq, content) => void reword.run(content, seq),
    erase: seq => void erase.run(seq),
    append({ nativeId, scope, role, author, content, at }, { thread, task, answers }) {
      const said = [scope, role, answers ?? null, author, content, at] as const
      return insert(randomUUID(), nativeId, thread, task ?? null, ...said)
    },
  }
}

export function draftResponseEntry(response: NormalizedResponse): StoredEntryDraft {
  return {
    nativeId: response.id,
    scope: 'conversation',
    role: 'assistant',
    author: formatJson({ address: response.sender }),
    content: formatJson(response.parts),
    at: response.created_at,
  }
}

const ownColumns = 'seq, entry_id, native_id, role, author, at'

export const entryColumns = `${ownColumns}, content`

const omitted = formatJson([{ kind: 'text', mime: 'text/plain', content: '[too long to be recalled]' }])

/** A column of parts as SQL; what is larger than `maxBytes` is named instead of read, for it may be there many times. */
export function formatBoundedParts(column: string, maxBytes: number): string {
  return `CASE WHEN octet_length(${column}) > ${maxBytes} THEN '${omitted}' ELSE ${column} END AS content`
}

/** As `entryColumns`, but what no usual history has room for is not read. */
export const recalledColumns = `${ownColumns}, ${formatBoundedParts('content', 256 * 1024)},
  (SELECT json_extract(m.envelope, '$.sender') FROM messages m WHERE m.number = entries.seq) AS sender`

export interface EntryRow {
  readonly seq: number
  readonly entry_id: string
  readonly native_id: string | null
  readonly role: Entry['role']
  readonly author: string
  readonly content: string
  readonly at: string
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
    role: row.role,
    author: parseJson<Entry['author']>(row.author),
    parts: parseJson<readonly Part[]>(row.content),
    at: row.at,
  }
}
