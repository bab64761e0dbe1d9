import type { ChannelName, RelationEffect } from '@postern/core'
import type { Batch } from './batch.ts'
import { createBouncing } from './bounces.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import { createPeerBlocking } from './peer-blocking.ts'
import type { Tables } from './tables.ts'

/** For whom, by which channel and when an effect comes into force. */
export interface EffectPlace {
  readonly agent: string
  readonly via: ChannelName
  readonly now: number
}

type Kind = RelationEffect['kind']
type Effects = {
  readonly [K in Kind]: (batch: Batch, effect: Extract<RelationEffect, { kind: K }>, at: EffectPlace) => void
}

type ApplyEffect = (batch: Batch, effect: RelationEffect, at: EffectPlace) => void

/** What a message changes beside itself, inside the write that admits it. */
export function createEffects(db: Database, tables: Tables): ApplyEffect {
  const { relations } = tables
  const peerBlocking = createPeerBlocking(db, tables)
  // The same id may come again: what it was known by as a duplicate is given free.
  const reopen = prepareQuery(
    db,
    `UPDATE messages SET duplicate_key = duplicate_key || ' undone ' || number
     WHERE author = ? AND object = ? AND via IN (?) AND agent = ? AND forgotten_at IS NULL`,
  )
  const effects: Effects = {
    relate(batch, { relation, peer, target }, { agent, via, now }) {
      const place = { agent, via }
      relations.relate({ ...place, relation, peer }, target, now)
      if (relation !== 'blocked_by') return
      peerBlocking.stopDeliveries(batch, { ...place, peer }, 'the recipient has blocked this agent', now)
      peerBlocking.cancelTurns(batch, { ...place, peer }, now)
    },
    unrelate: (_, { relation, peer }, { agent, via }) => relations.unrelate({ agent, via, relation, peer }),
    bounced: createBouncing(db, relations),
    reopen: (_, { author, object }, { agent, via }) => void reopen.run(author, object, via, agent),
  }
  return (batch, effect, at) => effects[effect.kind](batch, effect as never, at)
}
