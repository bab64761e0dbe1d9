// Deletes the data of a forgotten person besides messages, threads and links.
import type { KeyedDigests } from '../digests/keyed-digest.ts'
import { createDeliveryRemoval } from '../messages/row-removal.ts'
import { createClaimRemoval } from '../peers/claims.ts'
import { createNameRemoval } from '../peers/name-removal.ts'
import type { ProofKeyTable } from '../peers/proof-keys.ts'
import { createRecordHider } from '../peers/protecting-records.ts'
import type { PeerBlockingDeps } from '../queue/deliveries/peer-blocking.ts'
import { createPeerBlocking } from '../queue/deliveries/peer-blocking.ts'
import type { RecordedFetchTable } from '../replay/recorded-fetches.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { readPersonKey } from './person-table.ts'

export interface TraceRemovalDeps extends PeerBlockingDeps {
  readonly proofKeys: ProofKeyTable
  readonly lookups: RecordedFetchTable
}

interface RemovedPerson {
  readonly agent: string | null
  /** The principals of the person. */
  readonly subjects: readonly string[]
  readonly keys: readonly string[]
  /** True if the person asks for it. Relations that protect others from them then stay, without their name. */
  readonly isOwn: boolean
}

interface RemovedTraces {
  readonly relations: number
  /** The number of deleted entries of all other kinds. */
  readonly traces: number
}

/**
 * Creates the deletion of a person's remaining data. These are relations, keys, records, refusals, recorded fetches, deliveries to the person, messages
 * of the person in the background of other conversations, and broadcasts of deleted messages.
 */
export function createTraceRemoval(
  { db, channels, now }: StoreContext,
  tables: TraceRemovalDeps,
  digests: KeyedDigests,
) {
  const hideRecords = createRecordHider(db, digests)
  const removeClaims = createClaimRemoval(db)
  const removeNames = createNameRemoval(db)
  const deleteWithdrawals = db.prepare('DELETE FROM withdrawals WHERE author IN (SELECT value FROM json_each(?))')
  const { stopDeliveries } = createPeerBlocking(db, tables)
  const deleteDeliveries = createDeliveryRemoval(
    db,
    `peer IN (SELECT value FROM json_each(json_extract(?1, '$.subjects'))) AND (json_extract(?1, '$.agent') IS NULL
       OR message IN (SELECT seq FROM messages WHERE agent = json_extract(?1, '$.agent')))`,
  )
  const deleteRelations = db.prepare(
    `DELETE FROM relations WHERE (?1 IS NULL OR agent = ?1) AND relation NOT IN ('blocked_by', 'suppressed')
       AND (peer IN (SELECT value FROM json_each(?2)) OR channel || ' @' || lower(peer) IN (SELECT value FROM json_each(?3)))`,
  )
  const deleteRecords = db.prepare(
    `DELETE FROM records WHERE person IN (SELECT value FROM json_each(?2)) AND (owner = 'agent:' || ?1 OR ?1 IS NULL)`,
  )
  // Other people take part in these threads, so the threads stay without the name of their starter.
  const clearStarters = db.prepare(
    `UPDATE threads SET begun_by = '' WHERE (?1 IS NULL OR agent = ?1) AND begun_by IN (SELECT value FROM json_each(?2))`,
  )
  const forgetBackground = createBackgroundRemoval(db)
  const removeBroadcasts = createBroadcastRemoval(db)
  const findPrincipal = (key: string) => channels.formatSubject(readPersonKey(key)) ?? []
  return function* (batch: Batch, { agent, subjects, keys, isOwn }: RemovedPerson): Operation<RemovedTraces> {
    const subjectsJson = JSON.stringify(subjects)
    if (isOwn) yield* hideRecords(agent, keys)
    const persons = isOwn ? keys : digests.withDigests(keys)
    for (const peer of subjects) {
      for (const via of channels.names) {
        yield* stopDeliveries(
          batch,
          { via, peer, agent: agent ?? undefined, isRemoved: true },
          { reason: 'taken_back', error: 'the recipient is forgotten' },
          now(),
        )
      }
    }
    const deletedCounts = [
      yield* deleteDeliveries(batch, JSON.stringify({ agent, subjects })),
      yield* forgetBackground(agent, subjectsJson),
      yield* deleteRecords.change(agent, JSON.stringify(persons)),
      yield* tables.lookups.forget(subjects),
      yield* clearStarters.change(agent, JSON.stringify([...subjects, ...keys.flatMap(findPrincipal)])),
      yield* tables.proofKeys.forgetOwners(subjects),
      yield* removeClaims([...subjects, ...keys.map(key => readPersonKey(key).address)]),
      yield* deleteWithdrawals.change(subjectsJson),
      yield* removeNames(agent, { subjects, keys }),
    ]
    removeBroadcasts()
    const relations = yield* deleteRelations.change(agent, subjectsJson, JSON.stringify(keys))
    return { relations, traces: deletedCounts.reduce((sum, count) => sum + count, 0) }
  }
}

/** Prepares the deletion of a person's messages from the background of other conversations. */
function createBackgroundRemoval(db: Sql): (agent: string | null, subjects: string) => Operation<number> {
  const eraseContent = db.prepare(
    `UPDATE messages SET content = '[]', scope = 'forgotten', author = '{"address":"@forgotten@forgotten.invalid"}', native_id = NULL
     WHERE seq IN (SELECT b.seq FROM fetched_context b JOIN threads t ON t.id = b.thread_id
       WHERE (?1 IS NULL OR t.agent = ?1) AND b.principal IN (SELECT value FROM json_each(?2)))`,
  )
  // The row of deleted background stays, so that the same message is not added again.
  const clearPrincipal = db.prepare(
    `UPDATE fetched_context SET principal = NULL WHERE principal IN (SELECT value FROM json_each(?2))
       AND thread_id IN (SELECT id FROM threads WHERE ?1 IS NULL OR agent = ?1)`,
  )
  return function* (agent, subjects) {
    const changes = yield* eraseContent.change(agent, subjects)
    clearPrincipal.run(agent, subjects)
    return changes
  }
}

/** Prepares the deletion of broadcasts whose messages are deleted. */
function createBroadcastRemoval(db: Sql): () => void {
  // The newest row is emptied instead of deleted. Otherwise a new row could get its number while a worker still expands it.
  const orphanedCondition = "message NOT IN (SELECT seq FROM messages WHERE kind = 'message')"
  const clearNewest = db.prepare(
    `UPDATE broadcasts SET message = 0, thread_id = 0, response_seq = NULL, target = 'null', due_at = NULL, lease_owner = NULL, ended_at = 0
     WHERE id = (SELECT max(id) FROM broadcasts) AND ${orphanedCondition}`,
  )
  const deleteOlder = db.prepare(
    `DELETE FROM broadcasts WHERE ${orphanedCondition} AND id <> (SELECT max(id) FROM broadcasts)`,
  )
  return () => {
    clearNewest.run()
    deleteOlder.run()
  }
}
