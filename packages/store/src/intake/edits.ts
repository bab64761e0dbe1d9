import { hash } from 'node:crypto'
import type { Intake } from '@postern/core'
import { maxAborts } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import type { EntryTable } from '../conversations/entries.ts'
import type { Batch } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'
import type { MessageDraft } from '../messages/draft.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { OpenTurn } from '../turns/open-turn.ts'
import type { TurnTable } from '../turns/table.ts'

/** A message whose words may still change, for nobody has been answered yet. */
export interface OpenWords extends OpenTurn {
  readonly flags: string | null
  readonly speaker: string | null
}

/** Edits that reach a message before its answer does. Synchronous: inside a write. */
export interface EditTable {
  /** The newest message of this authorship that waits for its answer; undefined when its turn has been broken off often enough. */
  findOpen(intake: Intake): OpenWords | undefined
  /** Puts the words of an edit in the place of the message's own, if there is one. */
  apply(batch: Batch, words: OpenWords | undefined, draft: MessageDraft, now: number): void
}

interface FoundWords extends OpenWords {
  readonly lease_owner: string | null
  readonly abort_count: number
}

interface EditDeps {
  readonly entries: EntryTable
  readonly blobs: BlobTable
  readonly turns: TurnTable
  readonly responses: ResponseTable
}

export function createEditTable(db: Database, { entries, blobs, turns, responses }: EditDeps): EditTable {
  // Of a turn that answers several messages it is the last one's that is held.
  const find = prepareQuery<FoundWords>(
    db,
    `SELECT t.message, t.thread_id, t.state, t.merged_into, t.speaker, m.flags, l.lease_owner, l.abort_count
     FROM turns t JOIN messages m ON m.seq = t.message JOIN turns l ON l.message = coalesce(t.merged_into, t.message)
     WHERE t.authorship = ? AND t.ended_at IS NULL AND m.forgotten_at IS NULL`,
  )
  const replace = prepareQuery(
    db,
    'UPDATE messages SET target = ?, flags = ?, raw_form = ?, raw_digest = ?, raw = ?, arrival = ?, edited_at = ? WHERE seq = ?',
  )
  return {
    findOpen(intake) {
      const words = intake.message.kind === 'edit' ? digestWords(intake) : undefined
      const found = words === undefined ? undefined : newestOf(find.all(words))
      return found && (found.lease_owner === null || found.abort_count < maxAborts) ? found : undefined
    },
    apply(batch, words, draft, now) {
      if (!words) return
      const { raw } = draft.intake
      const { message } = words
      entries.reword(message, draft.entry.content)
      const kept: readonly string[] = words.flags === null ? [] : parseJson(words.flags)
      const flags = formatJson([...new Set([...kept, ...draft.flags, 'edited'])])
      const rawBytes = draft.rawBlob ? null : raw.bytes
      replace.run(draft.target, flags, raw.form, draft.rawBlob?.digest ?? null, rawBytes, draft.arrival, now, message)
      blobs.keepAll(draft.blobs, message)
      blobs.releaseUnnamed(batch, message, responses.findGiven(message)?.seq ?? message)
      turns.restart(batch, words, now)
      // Before other people now than those it was to be answered together with.
      const speaker = draft.lane?.speaker ?? null
      if (words.speaker !== null && speaker !== words.speaker) turns.setApart(batch, words, { speaker, now })
    },
  }
}

/** Whose words, and of what, for one agent. */
export function digestWords({ agent, authorship, message: { received_via: via } }: Intake): string | undefined {
  if (!authorship) return undefined
  return hash('sha256', JSON.stringify([agent, via, authorship.author, authorship.object]), 'base64')
}

function newestOf(found: readonly FoundWords[]): FoundWords | undefined {
  return found.reduce<FoundWords | undefined>(
    (newest, each) => (!newest || each.message > newest.message ? each : newest),
    undefined,
  )
}
