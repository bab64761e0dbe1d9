// Applies edits to messages that their agents have not answered yet.
import type { Intake } from '@postern/pipeline'
import { maxAborts } from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import type { MessageDraft } from '../messages/message-draft.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { OpenTurn } from '../queue/turns/open-turn.ts'
import type { TurnTable } from '../queue/turns/turn-table.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { viaOf } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import { digestAuthorship } from './authorship-digest.ts'

/** A message that waits for its answer, so that an edit may still change it. */
export interface EditableMessage extends OpenTurn {
  readonly flags: string | null
  readonly speaker: string | null
}

/** Applies edits to messages. The members are operations of a write. */
export interface EditTable {
  /** Finds the newest waiting message with the author and object of an edit. Returns undefined if its running turn was aborted `maxAborts` times already. */
  findEditable(intake: Intake): Operation<EditableMessage | undefined>
  /** Applies an edit to a waiting message, whose turn begins again. The answer goes to the target of the edit. */
  apply(batch: Batch, editable: EditableMessage, draft: MessageDraft, now: number): Operation<void>
  /** Replaces the content of all earlier messages with the author and object of an edit. Their raw bytes stay for replays only. */
  replaceEarlierContent(batch: Batch, edit: number, draft: MessageDraft, now: number): Operation<void>
}

interface EditableMessageRow extends EditableMessage {
  readonly lease_owner: string | null
  readonly abort_count: number
}

interface EditDeps {
  readonly blobs: BlobTable
  readonly turns: TurnTable
  readonly responses: ResponseTable
}

export function createEditTable(db: Sql, { blobs, turns, responses }: EditDeps): EditTable {
  // If a turn covers several messages, the row of the last message has the lease.
  const find = db.prepare<EditableMessageRow>(
    `SELECT t.message, t.thread_id, t.state, t.merged_into, t.speaker, m.flags, l.lease_owner, l.abort_count
     FROM turns t JOIN messages m ON m.seq = t.message JOIN turns l ON l.message = coalesce(t.merged_into, t.message)
     WHERE t.authorship = ? AND t.ended_at IS NULL AND m.forgotten_at IS NULL`,
  )
  const replace = db.prepare('UPDATE messages SET target = ?, flags = ?, edited_at = ? WHERE seq = ?')
  return {
    replaceEarlierContent: createContentReplacement(db, { blobs, responses }),
    *findEditable(intake) {
      const authorshipDigest = digestAuthorship(intake)
      const candidate = authorshipDigest === undefined ? undefined : findNewest(yield* find.all(authorshipDigest))
      return candidate && (candidate.lease_owner === null || candidate.abort_count < maxAborts) ? candidate : undefined
    },
    *apply(batch, editable, draft, now) {
      const { message } = editable
      const existingFlags: readonly string[] = editable.flags === null ? [] : parseJson(editable.flags)
      const flags = formatJson([...new Set([...existingFlags, ...draft.flags, 'edited'])])
      replace.run(draft.target, flags, now, message)
      yield* turns.restart(batch, editable, now)
      // The edited message may have other readers than the messages that it was merged with.
      const speaker = draft.queuePosition?.speaker ?? null
      if (editable.speaker !== null && speaker !== editable.speaker)
        yield* turns.assignSpeaker(batch, editable, { speaker, now })
    },
  }
}

/**
 * Prepares the replacement of content by an edit. The message that is in the conversation, or that waits for its answer, gets the content of the
 * edit. Earlier edits lose their content. So an edit reads and rewrites one or two rows, independent of the number of earlier edits.
 */
function createContentReplacement(
  db: Sql,
  { blobs, responses }: Pick<EditDeps, 'blobs' | 'responses'>,
): EditTable['replaceEarlierContent'] {
  const openCondition = 'EXISTS (SELECT 1 FROM turns t WHERE t.message = messages.seq AND t.ended_at IS NULL)'
  const replace = db.prepare<{ readonly seq: number; readonly scope: string; readonly content: string }>(
    `UPDATE messages SET content = CASE WHEN scope = 'conversation' OR ${openCondition} THEN ?1 ELSE '[]' END, edited_at = ?2,
       is_superseded = CASE WHEN scope = 'conversation' OR ${openCondition} THEN 0 ELSE 1 END
     WHERE principal = ?3 AND object = ?4 AND channel IN (?5) AND agent = ?6 AND forgotten_at IS NULL AND kind = 'message' AND seq < ?7
       AND is_superseded = 0 RETURNING seq, scope, content`,
  )
  const markAsEvent = db.prepare("UPDATE messages SET scope = 'event' WHERE seq = ? AND scope = 'conversation'")
  return function* (batch, edit, { intake, entry, blobs: files, storedBy, rawBlob }, now) {
    const { agent, authorship } = intake
    if (!authorship) return
    const { author, object } = authorship
    // The raw bytes of the edited message do not contain the attachments of the edit.
    const attachedFiles = files.filter(file => file !== rawBlob).map(file => ({ ...file, part: undefined }))
    const replacedRows = yield* replace.all(entry.content, now, author, object, viaOf(intake), agent, edit)
    for (const { seq, content } of replacedRows) {
      if (content !== '[]') yield* blobs.insertAll(attachedFiles, seq, storedBy)
      yield* blobs.releaseUnnamed(batch, seq, (yield* responses.findExisting(seq))?.seq ?? seq)
      noteChange(batch, 'message', seq)
    }
    // Only one row of the conversation has the content.
    if (replacedRows.some(({ scope }) => scope === 'conversation')) markAsEvent.run(edit)
  }
}

function findNewest(candidates: readonly EditableMessageRow[]): EditableMessageRow | undefined {
  return candidates.reduce<EditableMessageRow | undefined>(
    (newest, candidate) => (!newest || candidate.message > newest.message ? candidate : newest),
    undefined,
  )
}
