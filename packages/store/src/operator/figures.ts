import type { ChannelName, OperatorStore } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'

interface HostRow {
  readonly host: string
  readonly deliveries: number
  readonly failing: number
  readonly oldest_at: number
  readonly next_at: number | null
}

interface TimingRow {
  readonly channel: ChannelName
  readonly at: string
  readonly ended_at: number | null
}

/** How much waits, and how long messages take. */
export function createFigures(db: Database): Pick<OperatorStore, 'listWaitingHosts' | 'listTimings'> {
  // Mailboxes and names that are looked up have no host of their own: their domain stands for it.
  const listHosts = prepareQuery<HostRow>(
    db,
    `SELECT coalesce(d.host, lower(substr(ltrim(d.destination, '@'), instr(ltrim(d.destination, '@'), '@') + 1))) AS host, count(*) AS deliveries,
       count(CASE WHEN d.state = 'later' THEN 1 END) AS failing, min(d.queued_at) AS oldest_at,
       min(CASE WHEN d.lease_owner IS NULL THEN d.due_at END) AS next_at
     FROM deliveries d INDEXED BY deliveries_open WHERE d.ended_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT +?`,
  )
  // Numbers rise with time: nothing is read that came before the first message that is too old.
  const listNewest = prepareQuery<TimingRow>(
    db,
    `SELECT m.channel, m.at, t.ended_at FROM messages m LEFT JOIN turns t ON t.message = m.seq
     WHERE m.kind = 'message' AND m.seq >= ? AND m.at >= ? ORDER BY m.seq DESC LIMIT +?`,
  )
  const findNewest = prepareQuery<{ readonly seq: number | null }>(db, 'SELECT max(seq) AS seq FROM messages')
  const findEarlier = prepareQuery<{ readonly seq: number }>(
    db,
    "SELECT seq FROM messages WHERE kind = 'message' AND seq >= ? AND at < ? ORDER BY seq DESC LIMIT 1",
  )
  return {
    listWaitingHosts: async limit =>
      listHosts.all(limit).map(({ host, deliveries, failing, oldest_at, next_at }) => ({
        ...{ host, deliveries, failing, oldestAt: oldest_at },
        ...(next_at !== null && { nextAt: next_at }),
      })),
    async listTimings({ since, limit }) {
      // Answers and notes stand among the messages.
      const floor = (findNewest.get()?.seq ?? 0) - limit * rowsPerMessage
      const earlier = findEarlier.get(floor, since)?.seq
      const newest = listNewest.all(earlier ?? floor, since, limit)
      const timings = newest.map(({ channel, at, ended_at }) => {
        const cameAt = Date.parse(at)
        return { channel, at: cameAt, ...(ended_at !== null && { tookMs: Math.max(0, ended_at - cameAt) }) }
      })
      return { timings, isWhole: timings.length < limit && (earlier !== undefined || floor <= 0) }
    },
  }
}

/** A list of messages reads this many rows for each at most. */
const rowsPerMessage = 4
