import type { Bounce, ChannelName, Intake, RelationEffect } from '@postern/core'
import { maxAborts } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import type { EntryTable } from '../conversations/entries.ts'
import type { PeerBlockingDeps } from '../deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../deliveries/peer-blocking.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { formatJson, moveTotal, noteChange, parseJson } from '../engine/database.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { MessageDraft } from '../messages/table.ts'
import type { RelationTable } from '../peers/senders.ts'
import type { OpenTurn, TurnTable } from '../turns/table.ts'
import { digestWords } from './look-up.ts'

/** What more than an ordinary message does. */
type RareEffect = Exclude<RelationEffect, { kind: 'unrelate' }>
type Kind = RareEffect['kind']
type Effects = {
  readonly [K in Kind]: (batch: Batch, effect: Extract<RareEffect, { kind: K }>, at: EffectPlace) => void
}

type ApplyEffect = (batch: Batch, effect: RareEffect, at: EffectPlace) => void

export interface EffectDeps extends PeerBlockingDeps {
  readonly relations: RelationTable
}

/** What a message changes beside itself, inside the write that admits it. */
export function createEffects(db: Sql, tables: EffectDeps): ApplyEffect {
  const { relations } = tables
  const peerBlocking = createPeerBlocking(db, tables)
  // The same id may come again: what it was known by as a duplicate is given free.
  const reopen = db.prepare(
    `UPDATE messages SET duplicate_key = duplicate_key || ' undone ' || seq
     WHERE principal = ? AND object = ? AND channel IN (?) AND agent = ? AND forgotten_at IS NULL`,
  )
  const effects: Effects = {
    relate(batch, { relation, peer, target }, { agent, channel: via, now }) {
      const place = { agent, via }
      relations.relate({ ...place, relation, peer }, target, now)
      if (relation !== 'blocked_by') return
      peerBlocking.stopDeliveries(batch, { ...place, peer }, 'the recipient has blocked this agent', now)
      peerBlocking.cancelTurns(batch, { ...place, peer }, now)
    },
    bounced: createBouncing(db, relations),
    reopen: (_, { author, object }, { agent, channel }) => void reopen.run(author, object, channel, agent),
  }
  return (batch, effect, at) => effects[effect.kind](batch, effect as never, at)
}

/** For whom, by which channel and when an effect comes into force. */
interface EffectPlace {
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
}

/** A message whose words may still change, for nobody has been answered yet. */
export interface OpenWords extends OpenTurn {
  readonly flags: string | null
  readonly speaker: string | null
}

/** Edits that reach a message before its answer does. Synchronous: inside a write. */
export interface EditTable {
  /** Of an edit: the newest message of its authorship that waits for its answer; undefined when its turn has been broken off often enough. */
  findOpen(intake: Intake): OpenWords | undefined
  /** Puts the words of an edit in the place of the message's own. */
  apply(batch: Batch, words: OpenWords, draft: MessageDraft, now: number): void
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

export function createEditTable(db: Sql, { entries, blobs, turns, responses }: EditDeps): EditTable {
  // Of a turn that answers several messages it is the last one's that is held.
  const find = db.prepare<FoundWords>(
    `SELECT t.message, t.thread_id, t.state, t.merged_into, t.speaker, m.flags, l.lease_owner, l.abort_count
     FROM turns t JOIN messages m ON m.seq = t.message JOIN turns l ON l.message = coalesce(t.merged_into, t.message)
     WHERE t.authorship = ? AND t.ended_at IS NULL AND m.forgotten_at IS NULL`,
  )
  const replace = db.prepare(
    'UPDATE messages SET target = ?, flags = ?, raw_form = ?, raw_digest = ?, raw = ?, arrival = ?, edited_at = ? WHERE seq = ?',
  )
  return {
    findOpen(intake) {
      const words = digestWords(intake)
      const found = words === undefined ? undefined : newestOf(find.all(words))
      return found && (found.lease_owner === null || found.abort_count < maxAborts) ? found : undefined
    },
    apply(batch, words, draft, now) {
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

function newestOf(found: readonly FoundWords[]): FoundWords | undefined {
  return found.reduce<FoundWords | undefined>(
    (newest, each) => (!newest || each.message > newest.message ? each : newest),
    undefined,
  )
}

interface SentDelivery {
  readonly number: number
  readonly destination: string
  readonly attempt: number
}

/** A delivery that was sent is dead after all, or is sent once more, or was not wanted. */
function createBouncing(
  db: Sql,
  relations: Pick<RelationTable, 'relate'>,
): (batch: Batch, bounce: Bounce, at: EffectPlace) => void {
  const find = db.prepare<SentDelivery>(
    `SELECT d.number, d.destination, d.attempt FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.number = ? AND d.state = 'sent' AND m.agent = ? AND m.channel IN (?)`,
  )
  const note = db.prepare('UPDATE deliveries SET last_error = ? WHERE number = ?')
  const kill = db.prepare("UPDATE deliveries SET state = 'dead', ended_at = ?, last_error = ? WHERE number = ?")
  // As new, behind whatever goes to the same place in the same thread.
  const revive = db.prepare(
    `UPDATE deliveries SET state = 'later', ended_at = NULL, queued_at = ?1, last_error = ?2, due_at = CASE WHEN EXISTS
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
