import { viaOf } from '../conversations/threads.ts'
import type { Database } from '../engine/database.ts'
import { formatJson, prepareQuery } from '../engine/database.ts'
import type { MessageDraft } from './draft.ts'

interface MessagePosition {
  readonly message: number
  readonly thread: number
  readonly task: number | undefined
}

export function createMessageInserter(db: Database): (draft: MessageDraft, place: MessagePosition) => void {
  const insert = prepareQuery(
    db,
    `INSERT INTO messages (number, id, agent, channel, thread_id, task_id, duplicate_key, fingerprint, correlation_id,
       envelope, proofs, flags, target, raw_form, raw_digest, raw, author, object)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (draft, { message: number, thread, task }) => {
    const { agent, message, duplicateKey, fingerprint, raw, authorship } = draft.intake
    insert.run(
      number,
      message.id,
      agent,
      viaOf(draft.intake),
      thread,
      task ?? null,
      duplicateKey,
      fingerprint ?? null,
      draft.correlationId,
      draft.envelope,
      draft.proofs,
      draft.flags.length > 0 ? formatJson(draft.flags) : null,
      draft.target,
      raw.form,
      draft.rawBlob?.digest ?? null,
      draft.rawBlob ? null : raw.bytes,
      authorship?.author ?? null,
      authorship?.object ?? null,
    )
  }
}
