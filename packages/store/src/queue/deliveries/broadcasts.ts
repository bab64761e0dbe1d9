// Leases broadcasts and expands them into deliveries.
import type { ChannelName } from '@postern/message'
import type { Broadcast, PlannedDelivery, RelationKind, WorkStore } from '@postern/pipeline'
import { parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import { runTogether } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { refuseLostLease } from '../lost-lease.ts'
import type { DeliveryTable } from './delivery-table.ts'

interface BroadcastRow {
  readonly id: number
  readonly agent: string
  readonly channel: ChannelName
  readonly relation: RelationKind
  readonly target: string
  readonly after_id: number
  readonly until_id: number
}

/** The condition that a broadcast is the first open one of its thread, so that earlier broadcasts are expanded first. */
export const nextBroadcastCondition = `due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM broadcasts e
  WHERE e.thread_id = broadcasts.thread_id AND e.id < broadcasts.id AND e.due_at IS NOT NULL)`

interface CauseRow {
  readonly message: number
  readonly response_seq: number | null
  readonly thread_id: number
  readonly after_id: number
}

/** Creates the functions that lease broadcasts and expand them into deliveries, page by page. */
export function createBroadcasts(
  { db, write, writeLightly, now }: StoreContext,
  { deliveries }: { readonly deliveries: DeliveryTable },
): Pick<WorkStore, 'leaseBroadcasts' | 'expand'> {
  const findDue = db.prepare<BroadcastRow>(
    `SELECT id, agent, channel, relation, target, after_id, until_id FROM broadcasts
     WHERE due_at <= ? AND ${nextBroadcastCondition} ORDER BY due_at LIMIT +?`,
  )
  const claim = db.prepare('UPDATE broadcasts SET due_at = ?, lease_owner = ? WHERE id = ?')
  const findOpenBroadcast = db.prepare<CauseRow>(
    'SELECT message, response_seq, thread_id, after_id FROM broadcasts WHERE id = ? AND ended_at IS NULL',
  )
  const advance = db.prepare('UPDATE broadcasts SET after_id = ?, due_at = max(due_at, ?) WHERE id = ?')
  const end = db.prepare(
    'UPDATE broadcasts SET after_id = ?, due_at = NULL, lease_owner = NULL, ended_at = ? WHERE id = ?',
  )
  const selectNew = createNewDeliveryFilter(db)

  return {
    leaseBroadcasts: ({ holder, limit, leaseMs }) =>
      writeLightly(
        function* () {
          const dueBroadcasts = yield* findDue.all(now(), limit)
          for (const { id } of dueBroadcasts) claim.run(now() + leaseMs, holder, id)
          return dueBroadcasts.map(toBroadcast)
        },
        { conflictKeys: () => ['leases of broadcasts'] },
      ),
    async expand({ id, agent, via }, planned, { after, isDone }) {
      const changes = await write(function* (batch) {
        const cause = yield* findOpenBroadcast.get(id)
        // Another worker has continued the broadcast, or the agent has deleted the post.
        if (!cause || cause.after_id > after) return 0
        const { message, response_seq, thread_id: thread } = cause
        const newDeliveries = yield* selectNew(id, planned)
        const response = response_seq ?? undefined
        yield* deliveries.enqueue(batch, newDeliveries, {
          message,
          response,
          thread,
          agent,
          channel: via,
          now: now(),
          broadcast: id,
        })
        if (isDone) {
          end.run(after, now(), id)
          batch.readyWork.add('broadcasts')
        } else advance.run(after, now() + 60_000, id)
        return 1
      })
      refuseLostLease(changes, `broadcast ${id}`)
    },
  }
}

/** Prepares the filter for the deliveries of a page that the broadcast does not have yet. */
function createNewDeliveryFilter(db: Sql) {
  // A delivery to a single peer reaches no other peer at the same destination, so it does not count for other peers.
  const findReached = db.prepare(
    'SELECT 1 FROM deliveries WHERE broadcast = ? AND destination = ? AND (peer IS NULL OR peer = ?) LIMIT 1',
  )
  function* isReached(id: number, { to, peer }: PlannedDelivery) {
    return (yield* findReached.get(id, to, peer ?? null)) !== undefined
  }
  return function* (id: number, planned: readonly PlannedDelivery[]): Operation<readonly PlannedDelivery[]> {
    const uniqueDeliveries = dedupe(planned)
    const reachedFlags = yield* runTogether(uniqueDeliveries.map(delivery => () => isReached(id, delivery)))
    return uniqueDeliveries.filter((_, index) => !reachedFlags[index])
  }
}

/** Removes repeated deliveries. A destination that serves all its peers gets one delivery, and other destinations get one for each peer. */
function dedupe(planned: readonly PlannedDelivery[]): readonly PlannedDelivery[] {
  const sharedByDestination = new Map(planned.filter(({ peer }) => peer === undefined).map(each => [each.to, each]))
  const singlePeerDeliveries = planned.filter(({ to, peer }) => peer !== undefined && !sharedByDestination.has(to))
  return [
    ...sharedByDestination.values(),
    ...new Map(singlePeerDeliveries.map(each => [JSON.stringify([each.to, each.peer]), each])).values(),
  ]
}

function toBroadcast({ channel: via, target, after_id: after, until_id: until, ...row }: BroadcastRow): Broadcast {
  return { ...row, via, target: parseJson(target), lastQueuedPeer: after, lastPeer: until }
}
