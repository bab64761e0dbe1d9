// Applies the effects of a message, such as edits and relations.
import type { ChannelName } from '@postern/message'
import type { Bounce, Intake, RelationEffect } from '@postern/pipeline'
import { maxAborts } from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import type { MessageDraft } from '../messages/message-draft.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { PeerBlockingDeps } from '../queue/deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../queue/deliveries/peer-blocking.ts'
import type { OpenTurn } from '../queue/turns/open-turn.ts'
import type { TurnTable } from '../queue/turns/turn-table.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Sql } from '../sql/sql.ts'
import { viaOf } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import { moveTotal } from '../transaction/totals.ts'
import { digestAuthorship } from './authorship-digest.ts'

/** Tables that effects of messages write to. */
type RareEffect = Exclude<RelationEffect, { kind: 'unrelate' }>
type Kind = RareEffect['kind']
type Effects = {
  readonly [K in Kind]: (batch: Batch, effect: Extract<RareEffect, { kind: K }>, at: EffectContext) => void
}

type ApplyEffect = (batch: Batch, effect: RareEffect, at: EffectContext) => void

export interface EffectDeps extends PeerBlockingDeps {
  readonly relations: RelationTable
}

/** Creates the effects of messages, which run inside the write that admits them. */
export function createEffects(db: Sql, tables: EffectDeps): ApplyEffect {
  const { relations } = tables
  const peerBlocking = createPeerBlocking(db, tables)
  // The same id may come again, so its duplicate key is cleared.
  const reopen = db.prepare(
    `UPDATE messages SET duplicate_key = duplicate_key || ' undone ' || seq
     WHERE principal = ? AND object = ? AND channel IN (?) AND agent = ? AND forgotten_at IS NULL`,
  )
  const effects: Effects = {
    relate(batch, { relation, peer, target }, { agent, channel: via, now }) {
      const scope = { agent, via }
      relations.relate({ ...scope, relation, peer }, target, now)
      if (relation !== 'blocked_by') return
      const cause = { reason: 'blocked', error: 'the recipient has blocked this agent' } as const
      peerBlocking.stopDeliveries(batch, { ...scope, peer }, cause, now)
      peerBlocking.cancelTurns(batch, { ...scope, peer }, now)
    },
    bounced: createBouncing(db, relations),
    reopen: (_, { author, object }, { agent, channel }) => void reopen.run(author, object, channel, agent),
  }
  return (batch, effect, at) => effects[effect.kind](batch, effect as never, at)
}

/** The agent, channel and time of an effect. */
interface EffectContext {
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
}

/** A message that waits for its answer, so that an edit may still change it. */
export interface OpenWords extends OpenTurn {
  readonly flags: string | null
  readonly speaker: string | null
}

/** Edits of messages. The members run synchronously, inside a write. */
export interface EditTable {
  /** Finds the newest waiting message of an edit's author and object; undefined if its turn was aborted often enough. */
  findOpen(intake: Intake): OpenWords | undefined
  /** Applies an edit to a waiting message, whose turn begins again. The answer goes where the edit came from. */
  apply(batch: Batch, words: OpenWords, draft: MessageDraft, now: number): void
  /** Deletes the former content of an edit in all earlier messages. Their raw bytes stay for replays only. */
  replaceFormer(batch: Batch, edit: number, draft: MessageDraft, now: number): void
}

interface FoundWords extends OpenWords {
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
  const find = db.prepare<FoundWords>(
    `SELECT t.message, t.thread_id, t.state, t.merged_into, t.speaker, m.flags, l.lease_owner, l.abort_count
     FROM turns t JOIN messages m ON m.seq = t.message JOIN turns l ON l.message = coalesce(t.merged_into, t.message)
     WHERE t.authorship = ? AND t.ended_at IS NULL AND m.forgotten_at IS NULL`,
  )
  const replace = db.prepare('UPDATE messages SET target = ?, flags = ?, edited_at = ? WHERE seq = ?')
  return {
    replaceFormer: createFormerReplacing(db, { blobs, responses }),
    findOpen(intake) {
      const words = digestAuthorship(intake)
      const candidate = words === undefined ? undefined : newestOf(find.all(words))
      return candidate && (candidate.lease_owner === null || candidate.abort_count < maxAborts) ? candidate : undefined
    },
    apply(batch, words, draft, now) {
      const { message } = words
      const kept: readonly string[] = words.flags === null ? [] : parseJson(words.flags)
      const flags = formatJson([...new Set([...kept, ...draft.flags, 'edited'])])
      replace.run(draft.target, flags, now, message)
      turns.restart(batch, words, now)
      // The edit has other readers than the messages with which it was merged.
      const speaker = draft.queuePosition?.speaker ?? null
      if (words.speaker !== null && speaker !== words.speaker) turns.assignSpeaker(batch, words, { speaker, now })
    },
  }
}

/**
 * Prepares the replacement of content by an edit. The message in the conversation, or the one that waits for its answer, gets the content of the
 * edit, and earlier edits lose theirs. So an edit rewrites one or two rows, however many edits came before it.
 */
function createFormerReplacing(
  db: Sql,
  { blobs, responses }: Pick<EditDeps, 'blobs' | 'responses'>,
): EditTable['replaceFormer'] {
  const isOpen = 'EXISTS (SELECT 1 FROM turns t WHERE t.message = messages.seq AND t.ended_at IS NULL)'
  const replace = db.prepare<{ readonly seq: number; readonly scope: string; readonly content: string }>(
    `UPDATE messages SET content = CASE WHEN scope = 'conversation' OR ${isOpen} THEN ?1 ELSE '[]' END, edited_at = ?2
     WHERE principal = ?3 AND object = ?4 AND channel IN (?5) AND agent = ?6 AND forgotten_at IS NULL AND kind = 'message' AND seq < ?7
       AND (content <> '[]' OR edited_at IS NULL) RETURNING seq, scope, content`,
  )
  const standBehind = db.prepare("UPDATE messages SET scope = 'event' WHERE seq = ? AND scope = 'conversation'")
  return (batch, edit, { intake, entry, blobs: files, storedBy, rawBlob }, now) => {
    const { agent, authorship } = intake
    if (!authorship) return
    const { author, object } = authorship
    // The raw bytes of the edited message do not contain the attachments of the edit.
    const attached = files.filter(file => file !== rawBlob).map(file => ({ ...file, part: undefined }))
    const replaced = replace.all(entry.content, now, author, object, viaOf(intake), agent, edit)
    for (const { seq, content } of replaced) {
      if (content !== '[]') blobs.insertAll(attached, seq, storedBy)
      blobs.releaseUnnamed(batch, seq, responses.findExisting(seq)?.seq ?? seq)
      noteChange(batch, 'message', seq)
    }
    // The content is in one row only.
    if (replaced.some(({ scope }) => scope === 'conversation')) standBehind.run(edit)
  }
}

function newestOf(candidate: readonly FoundWords[]): FoundWords | undefined {
  return candidate.reduce<FoundWords | undefined>(
    (newest, each) => (!newest || each.message > newest.message ? each : newest),
    undefined,
  )
}

interface SentDelivery {
  readonly number: number
  readonly destination: string
  readonly attempt: number
}

/** Prepares the effect of a bounce: a sent delivery is dead, is sent again, or was not wanted. */
function createBouncing(
  db: Sql,
  relations: Pick<RelationTable, 'relate'>,
): (batch: Batch, bounce: Bounce, at: EffectContext) => void {
  const find = db.prepare<SentDelivery>(
    `SELECT d.number, d.destination, d.attempt FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.number = ? AND d.state = 'sent' AND m.agent = ? AND m.channel IN (?)`,
  )
  const note = db.prepare('UPDATE deliveries SET last_error = ? WHERE number = ?')
  const kill = db.prepare(
    "UPDATE deliveries SET state = 'dead', ended_at = ?, last_error = ?, reason = 'bounced' WHERE number = ?",
  )
  // The delivery is queued like a new one, after others to the same destination in the same thread.
  const revive = db.prepare(
    `UPDATE deliveries SET state = 'later', ended_at = NULL, queued_at = ?1, tried_at = NULL, last_error = ?2, reason = 'bounced', due_at = CASE WHEN EXISTS
       (SELECT 1 FROM deliveries o WHERE o.thread_id = deliveries.thread_id AND o.destination = deliveries.destination
          AND o.ended_at IS NULL) THEN NULL ELSE CAST(?1 AS INTEGER) END WHERE number = ?3`,
  )

  function settle(batch: Batch, { number, attempt }: SentDelivery, { error, retry, isDelivered }: Bounce, now: number) {
    if (isDelivered) return void note.run(error, number)
    const isRetried = retry !== undefined && attempt < retry.attempts
    if (isRetried) revive.run(Math.ceil(retry.at), error, number)
    else kill.run(now, error, number)
    moveTotal(batch, 'deliveries.sent', isRetried ? 'deliveries.later' : 'deliveries.dead')
    noteChange(batch, 'delivery', number)
    if (isRetried) batch.readyWork.add('deliveries')
  }

  return (batch, bounce, { agent, channel: via, now }) => {
    const { delivery, error, suppresses } = bounce
    const sent = /^\d{1,15}$/.test(delivery) ? find.get(Number(delivery), agent, via) : undefined
    if (!sent) return
    settle(batch, sent, bounce, now)
    if (suppresses) relations.relate({ agent, via, relation: 'suppressed', peer: sent.destination }, error, now)
  }
}
