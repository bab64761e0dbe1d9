// Applies the effects of a message on relations and deliveries.
import type { ChannelName } from '@postern/message'
import type { Bounce, RelationEffect } from '@postern/pipeline'
import type { RelationTable } from '../peers/relations.ts'
import type { PeerBlockingDeps } from '../queue/deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../queue/deliveries/peer-blocking.ts'
import type { Operation } from '../sql/operation.ts'
import { endedWith } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import { moveTotal } from '../transaction/totals.ts'

/** The effects that `createEffects` applies. The admission applies `unrelate` itself. */
type TableEffect = Exclude<RelationEffect, { kind: 'unrelate' }>
type EffectKind = TableEffect['kind']
type Effects = {
  readonly [K in EffectKind]: (
    batch: Batch,
    effect: Extract<TableEffect, { kind: K }>,
    context: EffectContext,
  ) => Operation<void>
}

type ApplyEffect = (batch: Batch, effect: TableEffect, context: EffectContext) => Operation<void>

/** The tables that effects of messages write to. */
export interface EffectDeps extends PeerBlockingDeps {
  readonly relations: RelationTable
}

/** Creates the function that applies the effects of a message, inside the write that admits the message. */
export function createEffects(db: Sql, tables: EffectDeps): ApplyEffect {
  const { relations } = tables
  const peerBlocking = createPeerBlocking(db, tables)
  // The peer may send the same id again, so the duplicate key is changed.
  const reopen = db.prepare(
    `UPDATE messages SET duplicate_key = duplicate_key || ' undone ' || seq
     WHERE principal = ? AND object = ? AND channel IN (?) AND agent = ? AND forgotten_at IS NULL`,
  )
  const effects: Effects = {
    *relate(batch, { relation, peer, target }, { agent, channel: via, now }) {
      const scope = { agent, via }
      relations.relate({ ...scope, relation, peer }, target, now)
      if (relation !== 'blocked_by') return
      const cause = { reason: 'blocked', error: 'the recipient has blocked this agent' } as const
      yield* peerBlocking.stopDeliveries(batch, { ...scope, peer }, cause, now)
      yield* peerBlocking.cancelTurns(batch, { ...scope, peer }, now)
    },
    bounced: createBounceEffect(db, relations),
    reopen: (_, { author, object }, { agent, channel }) => endedWith(reopen.run(author, object, channel, agent)),
  }
  return (batch, effect, context) => effects[effect.kind](batch, effect as never, context)
}

/** The agent, channel and time of an effect. */
interface EffectContext {
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
}

interface SentDelivery {
  readonly number: number
  readonly destination: string
  readonly attempt: number
}

/** Prepares the effect of a bounce. The sent delivery becomes dead or is sent again, and the recipient may be suppressed. */
function createBounceEffect(
  db: Sql,
  relations: Pick<RelationTable, 'relate'>,
): (batch: Batch, bounce: Bounce, context: EffectContext) => Operation<void> {
  const find = db.prepare<SentDelivery>(
    `SELECT d.number, d.destination, d.attempt FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.number = ? AND d.state = 'sent' AND m.agent = ? AND m.channel IN (?)`,
  )
  const recordError = db.prepare('UPDATE deliveries SET last_error = ? WHERE number = ?')
  const markDead = db.prepare(
    "UPDATE deliveries SET state = 'dead', ended_at = ?, last_error = ?, reason = 'bounced' WHERE number = ?",
  )
  // The delivery is queued like a new one, after others to the same destination in the same thread.
  const requeue = db.prepare(
    `UPDATE deliveries SET state = 'later', ended_at = NULL, queued_at = ?1, tried_at = NULL, last_error = ?2, reason = 'bounced', due_at = CASE WHEN EXISTS
       (SELECT 1 FROM deliveries o WHERE o.thread_id = deliveries.thread_id AND o.destination = deliveries.destination
          AND o.ended_at IS NULL) THEN NULL ELSE CAST(?1 AS INTEGER) END WHERE number = ?3`,
  )

  function settleBounce(
    batch: Batch,
    { number, attempt }: SentDelivery,
    { error, retry, isDelivered }: Bounce,
    now: number,
  ) {
    if (isDelivered) return void recordError.run(error, number)
    const isRetried = retry !== undefined && attempt < retry.attempts
    if (isRetried) requeue.run(Math.ceil(retry.at), error, number)
    else markDead.run(now, error, number)
    moveTotal(batch, 'deliveries.sent', isRetried ? 'deliveries.later' : 'deliveries.dead')
    noteChange(batch, 'delivery', number)
    if (isRetried) batch.readyWork.add('deliveries')
  }

  return function* (batch, bounce, { agent, channel: via, now }) {
    const { delivery, error, suppresses } = bounce
    const sentDelivery = /^\d{1,15}$/.test(delivery) ? yield* find.get(Number(delivery), agent, via) : undefined
    if (!sentDelivery) return
    settleBounce(batch, sentDelivery, bounce, now)
    if (suppresses) relations.relate({ agent, via, relation: 'suppressed', peer: sentDelivery.destination }, error, now)
  }
}
