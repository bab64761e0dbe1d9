// Inserts a message into its table.
import { randomUUID } from 'node:crypto'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoredEntryScope } from '../threads/entries.ts'
import { viaOf } from '../threads/threads.ts'
import type { MessageDraft } from './message-draft.ts'
import { formatFlags } from './message-draft.ts'

interface MessagePosition {
  readonly thread: number
  readonly task: number | undefined
  readonly scope: StoredEntryScope
  /** The time of the transaction, ms. */
  readonly at: number
}

/** Inserts a message with all its columns and returns its seq. */
type InsertMessage = (draft: MessageDraft, position: MessagePosition) => Operation<number>

export function createMessageInserter(db: Sql): InsertMessage {
  const insert = db.prepareInsert(
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, agent, channel, at, duplicate_key, fingerprint,
       correlation_id, principal, object, author, proofs, trace, arrival, flags, target, raw_form, raw_digest, envelope, content, raw, stored_by)
     VALUES (?, ?, 'message', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  return function* (draft, { thread, task, scope, at }) {
    const { agent, message, duplicateKey, fingerprint, raw, authorship } = draft.intake
    return yield* insert(
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
      draft.storedBy,
    )
  }
}

/** Adds the time of the transaction to a trace that was formatted before it. */
function stampTrace(trace: string, at: number): string {
  return `${trace.slice(0, -1)},"admitted_at":${at}}`
}
