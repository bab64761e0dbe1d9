import type { Broadcast, ChannelName, RelationKind, WorkDesk } from '@postern/core'
import { parseJson, prepareQuery } from './database.ts'
import { refuseLostLease } from './lease.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface BroadcastRow {
  readonly id: number
  readonly agent: string
  readonly via: ChannelName
  readonly relation: RelationKind
  readonly target: string
  readonly after_place: number
  readonly until_place: number
}

interface CauseRow {
  readonly message: number
  readonly response_seq: number | null
  readonly thread_id: number
  readonly after_place: number
}

/** Broadcasts are taken up here, and become deliveries page by page. */
export function createBroadcasts(
  { db, write, writeLightly, now }: Store,
  { deliveries }: Pick<Tables, 'deliveries'>,
): Pick<WorkDesk, 'leaseBroadcasts' | 'spread'> {
  const findDue = prepareQuery<BroadcastRow>(
    db,
    `SELECT id, agent, via, relation, target, after_place, until_place FROM broadcasts
     WHERE due_at <= ? ORDER BY due_at LIMIT +?`,
  )
  const claim = prepareQuery(db, 'UPDATE broadcasts SET due_at = ?, holder = ? WHERE id = ?')
  const findOpen = prepareQuery<CauseRow>(
    db,
    'SELECT message, response_seq, thread_id, after_place FROM broadcasts WHERE id = ? AND ended_at IS NULL',
  )
  const move = prepareQuery(db, 'UPDATE broadcasts SET after_place = ?, due_at = max(due_at, ?) WHERE id = ?')
  const end = prepareQuery(
    db,
    'UPDATE broadcasts SET after_place = ?, due_at = NULL, holder = NULL, ended_at = ? WHERE id = ?',
  )
  const isReached = prepareQuery(db, 'SELECT 1 FROM deliveries WHERE broadcast = ? AND destination = ? LIMIT 1')

  return {
    leaseBroadcasts: ({ holder, limit, leaseMs }) =>
      writeLightly(() => {
        const due = findDue.all(now(), limit)
        for (const { id } of due) claim.run(now() + leaseMs, holder, id)
        return due.map(toBroadcast)
      }),
    async spread({ id, agent, via }, planned, { after, isDone }) {
      const spread = await write(batch => {
        const cause = findOpen.get(id)
        // Somebody else has gone on with it, or the agent has taken back what it says.
        if (!cause || cause.after_place > after) return 0
        const { message, response_seq, thread_id: thread } = cause
        const news = planned.filter(({ to }) => !isReached.get(id, to))
        const response = response_seq ?? undefined
        deliveries.queue(batch, dedupe(news), { message, response, thread, agent, via, now: now(), broadcast: id })
        if (isDone) end.run(after, now(), id)
        else move.run(after, now() + 60_000, id)
        return 1
      })
      refuseLostLease(spread, `broadcast ${id}`)
    },
  }
}

/** One delivery a place. */
function dedupe<T extends { readonly to: string }>(planned: readonly T[]): readonly T[] {
  return [...new Map(planned.map(each => [each.to, each])).values()]
}

function toBroadcast({ target, after_place, until_place, ...row }: BroadcastRow): Broadcast {
  return { ...row, target: parseJson(target), after: after_place, until: until_place }
}
