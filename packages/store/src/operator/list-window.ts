import type { ListPeriod, ListWindow, OperatorStore, Page } from '@postern/core'
import { windowedLists } from '@postern/core'
import type { Sql } from '../engine/database.ts'

interface Place {
  readonly place: number
}

interface Newest {
  /** Null where there is none. */
  readonly place: number | null
}

interface TimedPlace extends Place {
  /** ms, or ISO 8601. */
  readonly at: number | string
}

/** Clocks of gateways differ, and messages of one moment are not numbered by it, ms. */
const slackMs = 60_000

/** What a page of a filtered list looks at: so many rows, and nothing outside of its period. */
export function createWindowFinder(db: Sql): OperatorStore['findListWindow'] {
  const skips = {
    messages: db.prepare<Place>('SELECT seq AS place FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET +?'),
    deliveries: db.prepare<Place>(
      'SELECT number AS place FROM deliveries WHERE number < ? ORDER BY number DESC LIMIT 1 OFFSET +?',
    ),
    dead: db.prepare<Place>(
      `SELECT number AS place FROM deliveries INDEXED BY deliveries_dead WHERE state = 'dead' AND number < ?
       ORDER BY number DESC LIMIT 1 OFFSET +?`,
    ),
  }
  const messageAt = createSeeker(
    db.prepare<TimedPlace>(
      "SELECT seq AS place, at FROM messages WHERE seq >= ? AND kind = 'message' ORDER BY seq LIMIT 1",
    ),
    db.prepare<Newest>('SELECT max(seq) AS place FROM messages'),
  )
  const deliveryAt = createSeeker(
    db.prepare<TimedPlace>(
      'SELECT number AS place, queued_at AS at FROM deliveries WHERE number >= ? ORDER BY number LIMIT 1',
    ),
    db.prepare<Newest>('SELECT max(number) AS place FROM deliveries'),
  )
  return async (list, page) => {
    const isOfMessages = list === 'messages' || list === 'texts'
    const { after, earliest } = limitToPeriod(page, isOfMessages ? messageAt : deliveryAt)
    const skip = skips[list === 'texts' ? 'messages' : list]
    const bound = skip.get(after, windowedLists[list] - 1)?.place ?? 0
    return { after, floor: Math.max(bound, earliest), isLast: bound <= earliest }
  }
}

type Seek = (at: number) => number

function limitToPeriod({ after, since, until }: Pick<Page, 'after'> & ListPeriod, seek: Seek) {
  const newest = after ?? Number.MAX_SAFE_INTEGER
  return {
    after: until === undefined ? newest : Math.min(newest, seek(Date.parse(until) + slackMs)),
    earliest: since === undefined ? 0 : seek(Date.parse(since) - slackMs),
  } satisfies { after: ListWindow['after']; earliest: number }
}

/** The first number from an instant on: numbers rise with time, so that it is found by halves. */
function createSeeker(from: { get(place: number): TimedPlace | undefined }, last: { get(): Newest | undefined }): Seek {
  return at => {
    let low = 0
    let high = (last.get()?.place ?? 0) + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const found = from.get(middle)
      if (found && found.place < high && toMs(found.at) < at) low = found.place + 1
      else high = middle
    }
    return low
  }
}

function toMs(at: number | string): number {
  return typeof at === 'number' ? at : Date.parse(at)
}
