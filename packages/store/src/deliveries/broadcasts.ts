import type { Broadcast, ChannelName, Planned, PlannedDelivery, RelationKind, WorkStore } from '@postern/core'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson, readTogether, refuseLostLease } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { DeliveryTable, NewDelivery } from './queue.ts'

interface BroadcastRow {
  readonly id: number
  readonly agent: string
  readonly channel: ChannelName
  readonly relation: RelationKind
  readonly target: string
  readonly after_id: number
  readonly until_id: number
}

interface CauseRow {
  readonly message: number
  readonly response_seq: number | null
  readonly thread_id: number
  readonly after_id: number
}

/** Broadcasts are taken up here, and become deliveries page by page. */
export function createBroadcasts(
  { db, write, writeLightly, now }: StoreContext,
  { deliveries }: { readonly deliveries: DeliveryTable },
): Pick<WorkStore, 'leaseBroadcasts' | 'expand'> {
  const findDue = db.prepare<BroadcastRow>(
    `SELECT id, agent, channel, relation, target, after_id, until_id FROM broadcasts
     WHERE due_at <= ? ORDER BY due_at LIMIT +?`,
  )
  const claim = db.prepare('UPDATE broadcasts SET due_at = ?, lease_owner = ? WHERE id = ?')
  const findOpen = db.prepare<CauseRow>(
    'SELECT message, response_seq, thread_id, after_id FROM broadcasts WHERE id = ? AND ended_at IS NULL',
  )
  const move = db.prepare('UPDATE broadcasts SET after_id = ?, due_at = max(due_at, ?) WHERE id = ?')
  const end = db.prepare(
    'UPDATE broadcasts SET after_id = ?, due_at = NULL, lease_owner = NULL, ended_at = ? WHERE id = ?',
  )
  const listNew = createNewLister(db)

  return {
    leaseBroadcasts: ({ holder, limit, leaseMs }) =>
      writeLightly(
        () => {
          const due = findDue.all(now(), limit)
          for (const { id } of due) claim.run(now() + leaseMs, holder, id)
          return due.map(toBroadcast)
        },
        { touches: () => ['leases of broadcasts'] },
      ),
    async expand({ id, agent, via }, planned, { after, isDone }) {
      const expand = await write(batch => {
        const cause = findOpen.get(id)
        // Somebody else has gone on with it, or the agent has taken back what it says.
        if (!cause || cause.after_id > after) return 0
        const { message, response_seq, thread_id: thread } = cause
        const news = listNew(id, planned)
        const response = response_seq ?? undefined
        deliveries.queue(batch, news, { message, response, thread, agent, channel: via, now: now(), broadcast: id })
        if (isDone) end.run(after, now(), id)
        else move.run(after, now() + 60_000, id)
        return 1
      })
      refuseLostLease(expand, `broadcast ${id}`)
    },
  }
}

/** Those of a page that the broadcast has not reached yet, each once. */
function createNewLister(db: Sql) {
  // What goes to one peer alone may die with that peer (who has blocked the agent, or is blocked): nobody else is reached by it.
  const findReached = db.prepare(
    'SELECT 1 FROM deliveries WHERE broadcast = ? AND destination = ? AND (peer IS NULL OR peer = ?) LIMIT 1',
  )
  const isReached = (id: number, { to, peer }: PlannedDelivery) => findReached.get(id, to, peer ?? null) !== undefined
  return (id: number, planned: readonly PlannedDelivery[]): readonly PlannedDelivery[] => {
    const each = dedupe(planned)
    const reached = readTogether(
      db,
      each.map(one => () => isReached(id, one)),
    )
    return each.filter((_, at) => !reached[at])
  }
}

/** One delivery a place where it is for all who are there; else one for each. */
function dedupe(planned: readonly PlannedDelivery[]): readonly PlannedDelivery[] {
  const forAll = new Map(planned.filter(({ peer }) => peer === undefined).map(each => [each.to, each]))
  const forOne = planned.filter(({ to, peer }) => peer !== undefined && !forAll.has(to))
  return [...forAll.values(), ...new Map(forOne.map(each => [JSON.stringify([each.to, each.peer]), each])).values()]
}

function toBroadcast({ channel: via, target, after_id: after, until_id: until, ...row }: BroadcastRow): Broadcast {
  return { ...row, via, target: parseJson(target), after, until }
}

/** To be called inside a write. */
export function createBroadcastStarter(db: Sql) {
  const insert = db.prepare(
    `INSERT INTO broadcasts (message, response_seq, thread_id, agent, channel, relation, target, until_id, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(id), 0) FROM relations
       WHERE agent = ?4 AND channel = ?5 AND relation = ?6), ?8)`,
  )
  return (
    { relation, target }: NonNullable<Planned['broadcasts']>[number],
    { message, response, thread, agent, channel, now }: NewDelivery,
  ) => insert.run(message, response ?? null, thread, agent, channel, relation, formatJson(target), now)
}
