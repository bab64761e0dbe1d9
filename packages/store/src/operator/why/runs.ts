import type { Downtime, WhyStore } from '@postern/core'
import type { StoreContext } from '../../engine/store-context.ts'

/** Runs that are remembered. */
const mostRuns = 200
/** Downtimes that a record names, the newest. */
const mostDowntimes = 20
/** A gateway that says every minute that it runs may be late at it. */
const slackMs = 90_000

/** A gateway writes down when it begins, that it still runs, and when it ends. */
export function createRunNotes({ db, writeLightly, now, isAlone }: StoreContext): Pick<WhyStore, 'noteGatewayRun'> {
  const begin = db.prepare('INSERT INTO gateway_runs (holder, began_at, seen_at) VALUES (?1, ?2, ?2)')
  const prune = db.prepare('DELETE FROM gateway_runs WHERE id <= (SELECT max(id) FROM gateway_runs) - ?')
  const findNewest = db.prepare<{ at: string }>('SELECT at FROM messages WHERE seq = (SELECT max(seq) FROM messages)')
  const extend = db.prepare(
    `UPDATE gateway_runs SET seen_at = max(seen_at, CAST(? AS INTEGER)) WHERE has_ended = 0 AND id = (SELECT max(id) FROM gateway_runs)`,
  )
  const see = db.prepare('UPDATE gateway_runs SET seen_at = ? WHERE holder = ?')
  const end = db.prepare('UPDATE gateway_runs SET seen_at = ?, has_ended = 1 WHERE holder = ?')
  /** A gateway that was killed has run on until the last that it has stored. */
  const extendKilled = () => {
    const newest = Date.parse(findNewest.get()?.at ?? '')
    if (newest <= now()) extend.run(newest)
  }
  return {
    noteGatewayRun: (holder, stage) =>
      writeLightly(
        () => {
          if (stage === 'begins') {
            if (isAlone) extendKilled()
            begin.run(holder, now())
            prune.run(mostRuns)
          } else (stage === 'runs' ? see : end).run(now(), holder)
        },
        { touches: () => ['gateway runs'] },
      ),
  }
}

interface RunRow {
  readonly began_at: number
  readonly seen_at: number
  readonly has_ended: number
}

/** When no gateway ran, between the first run that is remembered and the last one; oldest first. */
export function createDowntimes({ db, isAlone }: StoreContext): () => readonly Downtime[] {
  const list = db.prepare<RunRow>('SELECT began_at, seen_at, has_ended FROM gateway_runs')
  return () => {
    const runs = list.all().toSorted((one, other) => one.began_at - other.began_at)
    return findGaps(runs, isAlone ? 0 : slackMs).slice(-mostDowntimes)
  }
}

/**
 * Several gateways may run at a time: a gap is where none does. `slack`: how long one that has not said that it ends may have run on unseen
 * while another began, ms.
 */
function findGaps(runs: readonly RunRow[], slack: number): readonly Downtime[] {
  const gaps: Downtime[] = []
  let last: RunRow | undefined
  for (const run of runs) {
    if (last && run.began_at > last.seen_at + (last.has_ended ? 0 : slack)) {
      gaps.push({ from: last.seen_at, to: run.began_at })
    }
    if (!last || run.seen_at >= last.seen_at) last = run
  }
  return gaps
}
