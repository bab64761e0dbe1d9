import type { ChannelName, IntakeStore, OperatorStore, Refusal } from '@postern/core'
import { addToTotal } from '../engine/batch.ts'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

export interface Refusals extends Pick<IntakeStore, 'refuse'>, Pick<OperatorStore, 'listRefusals'> {
  /** Refused since the last flush, whether kept or not. */
  pending(): number
  flush(): Promise<void>
}

/** A flood of bad traffic must cost less than the traffic itself: few are kept, and they are written together. */
const keptPerSecond = 50
const keptInAll = 10_000
const flushMs = 250

interface RefusalRow {
  readonly id: number
  readonly at: string
  readonly channel: ChannelName
  readonly peer: string
  readonly code: string
  readonly reason: string
}

export function createRefusals({ db, write, now, log }: StoreContext): Refusals {
  const insert = prepareQuery(db, 'INSERT INTO refusals (at, channel, peer, code, reason) VALUES (?, ?, ?, ?, ?)')
  const prune = prepareQuery(db, 'DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?')
  const list = prepareQuery<RefusalRow>(
    db,
    'SELECT id, at, channel, peer, code, reason FROM refusals WHERE id < ? ORDER BY id DESC LIMIT +?',
  )
  const mayKeep = createSecondLimit(keptPerSecond, now)
  let buffer: Refusal[] = []
  let refused = 0
  let timer: NodeJS.Timeout | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (refused === 0) return
    const [kept, count] = [buffer, refused]
    buffer = []
    refused = 0
    try {
      await write(batch => {
        for (const { at, via, from, code, reason } of kept) insert.run(at, via, from, code, reason)
        prune.run(keptInAll)
        addToTotal(batch, 'refusals', count)
      })
    } catch (error) {
      log.warn({ err: error, count }, 'refusals could not be remembered')
    }
  }

  return {
    refuse(refusal) {
      refused += 1
      if (mayKeep()) buffer.push(refusal)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    pending: () => refused,
    flush,
    async listRefusals({ limit, after = Number.MAX_SAFE_INTEGER }) {
      await flush()
      return list
        .all(after, limit)
        .map(({ id, channel, peer, ...rest }) => ({ ...rest, place: id, via: channel, from: peer }))
    },
  }
}

function createSecondLimit(perSecond: number, now: () => number): () => boolean {
  let second = 0
  let taken = 0
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      taken = 0
    }
    taken += 1
    return taken <= perSecond
  }
}
