import type { RelationEffect } from '@postern/core'
import type { PeerBlockingDeps } from '../deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../deliveries/peer-blocking.ts'
import type { Batch } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import type { RelationTable } from '../peers/relations.ts'
import { createBouncing } from './bounces.ts'
import type { EffectPlace } from './effect-place.ts'

type Kind = RelationEffect['kind']
type Effects = {
  readonly [K in Kind]: (batch: Batch, effect: Extract<RelationEffect, { kind: K }>, at: EffectPlace) => void
}

type ApplyEffect = (batch: Batch, effect: RelationEffect, at: EffectPlace) => void

export interface EffectDeps extends PeerBlockingDeps {
  readonly relations: RelationTable
}

/** What a message changes beside itself, inside the write that admits it. */
export function createEffects(db: Database, tables: EffectDeps): ApplyEffect {
  const { relations } = tables
  const peerBlocking = createPeerBlocking(db, tables)
  // The same id may come again: what it was known by as a duplicate is given free.
  const reopen = prepareQuery(
    db,
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
    unrelate: (_, { relation, peer }, { agent, channel: via }) => relations.unrelate({ agent, via, relation, peer }),
    bounced: createBouncing(db, relations),
    reopen: (_, { author, object }, { agent, channel }) => void reopen.run(author, object, channel, agent),
  }
  return (batch, effect, at) => effects[effect.kind](batch, effect as never, at)
}
