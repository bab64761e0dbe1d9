// Finds the range of rows that a page of a filtered list reads.
import type { ListPeriod, ListWindow, OperatorStore, Page } from '@postern/pipeline'
import { windowedLists } from '@postern/pipeline'
import type { Operation } from '../sql/operation.ts'
import type { Query, Sql } from '../sql/sql.ts'

interface ListPosition {
  readonly position: number
}

interface NewestPosition {
  /** The highest number, or null if the table is empty. */
  readonly position: number | null
}

interface TimedPosition extends ListPosition {
  /** The time of the row, in ms or ISO 8601. */
  readonly at: number | string
}

/** The margin at both ends of a period, ms. The clocks of gateways differ, so the order of row numbers is only nearly the order of time. */
const marginMs = 60_000

/** Creates the search for the window that a page of a filtered list reads. A window has a limited number of rows, all within the period. */
export function createWindowFinder(db: Sql): OperatorStore['findListWindow'] {
  const offsetQueries = {
    messages: db.prepare<ListPosition>(
      'SELECT seq AS position FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET +?',
    ),
    deliveries: db.prepare<ListPosition>(
      'SELECT number AS position FROM deliveries WHERE number < ? ORDER BY number DESC LIMIT 1 OFFSET +?',
    ),
    dead: db.prepare<ListPosition>(
      `SELECT number AS position FROM deliveries INDEXED BY deliveries_dead WHERE state = 'dead' AND number < ?
       ORDER BY number DESC LIMIT 1 OFFSET +?`,
    ),
  }
  const seekMessage = createSeeker(
    db.prepare<TimedPosition>(
      "SELECT seq AS position, at FROM messages WHERE seq >= ? AND kind = 'message' ORDER BY seq LIMIT 1",
    ),
    db.prepare<NewestPosition>('SELECT max(seq) AS position FROM messages'),
  )
  const seekDelivery = createSeeker(
    db.prepare<TimedPosition>(
      'SELECT number AS position, queued_at AS at FROM deliveries WHERE number >= ? ORDER BY number LIMIT 1',
    ),
    db.prepare<NewestPosition>('SELECT max(number) AS position FROM deliveries'),
  )
  return (list, page) =>
    db.read(function* () {
      const isOfMessages = list === 'messages' || list === 'texts'
      const { after, earliest } = yield* limitToPeriod(page, isOfMessages ? seekMessage : seekDelivery)
      const offsetQuery = offsetQueries[list === 'texts' ? 'messages' : list]
      const bound = (yield* offsetQuery.get(after, windowedLists[list] - 1))?.position ?? 0
      return { after, floor: Math.max(bound, earliest), isLast: bound <= earliest }
    })
}

type Seek = (at: number) => Operation<number>

function* limitToPeriod({ after, since, until }: Pick<Page, 'after'> & ListPeriod, seek: Seek) {
  const highest = after ?? Number.MAX_SAFE_INTEGER
  return {
    after: until === undefined ? highest : Math.min(highest, yield* seek(Date.parse(until) + marginMs)),
    earliest: since === undefined ? 0 : yield* seek(Date.parse(since) - marginMs),
  } satisfies { after: ListWindow['after']; earliest: number }
}

/** Creates a binary search for the first row number from an instant on. Row numbers rise with time. */
function createSeeker(findFrom: Pick<Query<TimedPosition>, 'get'>, findLast: Pick<Query<NewestPosition>, 'get'>): Seek {
  return function* (at) {
    let lowest = 0
    let highest = ((yield* findLast.get())?.position ?? 0) + 1
    while (lowest < highest) {
      const middle = Math.floor((lowest + highest) / 2)
      const row = yield* findFrom.get(middle)
      if (row && row.position < highest && toMs(row.at) < at) lowest = row.position + 1
      else highest = middle
    }
    return lowest
  }
}

function toMs(at: number | string): number {
  return typeof at === 'number' ? at : Date.parse(at)
}
