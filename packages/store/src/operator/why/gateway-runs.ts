// Records the runs of gateways, and lists the times in which no gateway ran.
import type { Downtime, WhyStore } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

/** The maximum number of listed downtimes, the newest. */
const maxDowntimes = 20
/** The longest time between two reports of a running gateway, ms. A gateway reports every minute, and a report may be late. */
const maxReportGapMs = 90_000

/** Creates the function that records that a gateway still runs, or that it has ended. */
export function createRunRecorder({ db, writeLightly, now }: StoreContext): Pick<WhyStore, 'noteGatewayRun'> {
  const updateSeenAt = db.prepare('UPDATE gateway_runs SET seen_at = ? WHERE holder = ?')
  const recordEnd = db.prepare('UPDATE gateway_runs SET seen_at = ?, has_ended = 1 WHERE holder = ?')
  return {
    noteGatewayRun: (holder, state) =>
      writeLightly(() => void (state === 'runs' ? updateSeenAt : recordEnd).run(now(), holder), {
        conflictKeys: () => ['gateway runs'],
      }),
  }
}

interface RunRow {
  readonly began_at: number
  readonly seen_at: number
  readonly has_ended: number
}

/** Creates the list of times without a running gateway, between the first stored run and the last one, oldest first. */
export function createDowntimeList({ db, isSoleWriter }: StoreContext): () => Operation<readonly Downtime[]> {
  const listRuns = db.prepare<RunRow>('SELECT began_at, seen_at, has_ended FROM gateway_runs')
  return function* () {
    const runs = (yield* listRuns.all()).toSorted((a, b) => a.began_at - b.began_at)
    return findGaps(runs, isSoleWriter ? 0 : maxReportGapMs).slice(-maxDowntimes)
  }
}

/**
 * Finds the gaps in which no gateway ran. Several gateways may run at the same time. `silenceMs` is the time for which a gateway that did not report
 * its end may have continued to run.
 */
function findGaps(runs: readonly RunRow[], silenceMs: number): readonly Downtime[] {
  const gaps: Downtime[] = []
  let latestRun: RunRow | undefined
  for (const run of runs) {
    if (latestRun && run.began_at > latestRun.seen_at + (latestRun.has_ended ? 0 : silenceMs)) {
      gaps.push({ from: latestRun.seen_at, to: run.began_at })
    }
    if (!latestRun || run.seen_at >= latestRun.seen_at) latestRun = run
  }
  return gaps
}
