import type { PeerBlockingDeps } from '../deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../deliveries/peer-blocking.ts'
import type { Batch, Sql } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createDeliveryRemoval } from '../messages/row-removal.ts'
import { createClaimRemoval } from '../peers/claims.ts'
import type { ProofKeyTable } from '../peers/senders.ts'
import type { LookupTable } from '../replay/lookups.ts'
import { readPersonKey } from './table.ts'

export interface RestDeps extends PeerBlockingDeps {
  readonly proofKeys: ProofKeyTable
  readonly lookups: LookupTable
}

interface Rest {
  readonly agent: string | null
  /** Principals. */
  readonly subjects: readonly string[]
  readonly keys: readonly string[]
}

/**
 * Relations, keys and records that are theirs, what was refused in their name, what was to be sent to them by those, words of theirs that were brought into conversations of others, and broadcasts of what is gone.
 * @returns how many relations
 */
export function createRestRemoval({ db, channels, now }: StoreContext, tables: RestDeps) {
  const removeClaims = createClaimRemoval(db)
  const { stopDeliveries } = createPeerBlocking(db, tables)
  const endDeliveries = createDeliveryRemoval(
    db,
    `peer IN (SELECT value FROM json_each(json_extract(?1, '$.subjects'))) AND (json_extract(?1, '$.agent') IS NULL
       OR message IN (SELECT seq FROM messages WHERE agent = json_extract(?1, '$.agent')))`,
  )
  const endRelations = db.prepare(
    `DELETE FROM relations WHERE (?1 IS NULL OR agent = ?1) AND relation NOT IN ('blocked_by', 'suppressed')
       AND (peer IN (SELECT value FROM json_each(?2)) OR channel || ' @' || lower(peer) IN (SELECT value FROM json_each(?3)))`,
  )
  const endRecords = db.prepare(
    `DELETE FROM records WHERE person IN (SELECT value FROM json_each(?2)) AND (owner = 'agent:' || ?1 OR ?1 IS NULL)`,
  )
  // Others take part there, whoever began it.
  const endBeginnings = db.prepare(
    `UPDATE threads SET begun_by = '' WHERE (?1 IS NULL OR agent = ?1) AND begun_by IN (SELECT value FROM json_each(?2))`,
  )
  const forgetBackground = createBackgroundRemoval(db)
  const removeBroadcasts = createBroadcastRemoval(db)
  const principalOf = (key: string) => channels.subjectOf(readPersonKey(key)) ?? []
  return (batch: Batch, { agent, subjects, keys }: Rest): number => {
    const named = JSON.stringify(subjects)
    for (const peer of subjects) {
      for (const via of channels.names) {
        stopDeliveries(batch, { via, peer, agent: agent ?? undefined }, 'the recipient is forgotten', now())
      }
    }
    endDeliveries(batch, JSON.stringify({ agent, subjects }))
    forgetBackground(agent, named)
    endRecords.run(agent, JSON.stringify(keys))
    tables.lookups.forget(subjects)
    endBeginnings.run(agent, JSON.stringify([...subjects, ...keys.flatMap(principalOf)]))
    tables.proofKeys.forgetOwners(subjects)
    removeClaims([...subjects, ...keys.map(key => readPersonKey(key).address)])
    removeBroadcasts()
    return endRelations.run(agent, named, JSON.stringify(keys)).changes
  }
}

/** Takes out words that were brought into conversations of others. */
function createBackgroundRemoval(db: Sql): (agent: string | null, subjects: string) => void {
  const blank = db.prepare(
    `UPDATE messages SET content = '[]', scope = 'forgotten', author = '{"address":"@forgotten@forgotten.invalid"}', native_id = NULL
     WHERE seq IN (SELECT b.seq FROM fetched_context b JOIN threads t ON t.id = b.thread_id
       WHERE (?1 IS NULL OR t.agent = ?1) AND b.principal IN (SELECT value FROM json_each(?2)))`,
  )
  // What was taken out is known, and not brought in once more.
  const disown = db.prepare(
    `UPDATE fetched_context SET principal = NULL WHERE principal IN (SELECT value FROM json_each(?2))
       AND thread_id IN (SELECT id FROM threads WHERE ?1 IS NULL OR agent = ?1)`,
  )
  return (agent, subjects) => {
    blank.run(agent, subjects)
    disown.run(agent, subjects)
  }
}

/** Takes out the broadcasts of messages that are gone. */
function createBroadcastRemoval(db: Sql): () => void {
  // The newest number is kept, empty, so that it is not given again to what somebody still spreads.
  const isOver = "message NOT IN (SELECT seq FROM messages WHERE kind = 'message')"
  const blankNewest = db.prepare(
    `UPDATE broadcasts SET message = 0, thread_id = 0, response_seq = NULL, target = 'null', due_at = NULL, lease_owner = NULL, ended_at = 0
     WHERE id = (SELECT max(id) FROM broadcasts) AND ${isOver}`,
  )
  const endOthers = db.prepare(`DELETE FROM broadcasts WHERE ${isOver} AND id <> (SELECT max(id) FROM broadcasts)`)
  return () => {
    blankNewest.run()
    endOthers.run()
  }
}
