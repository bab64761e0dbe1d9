// Notes when gateways ran and when they were down.
import type { Downtime, WhyStore } from '@postern/pipeline'
import type { StoreContext } from '../../transaction/store-context.ts'

/** The maximum number of downtimes in a record. The newest ones count. */
const maxDowntimes = 20
/** The longest silence of a gateway that still runs, ms. It reports every minute, and may be late. */
const slackMs = 90_000

/** Creates the notes that a gateway still runs, and that it has ended. */
export function createRunNotes({ db, writeLightly, now }: StoreContext): Pick<WhyStore, 'noteGatewayRun'> {
  const updateSeenAt = db.prepare('UPDATE gateway_runs SET seen_at = ? WHERE holder = ?')
  const end = db.prepare('UPDATE gateway_runs SET seen_at = ?, has_ended = 1 WHERE holder = ?')
  return {
    noteGatewayRun: (holder, stage) =>
      writeLightly(() => void (stage === 'runs' ? updateSeenAt : end).run(now(), holder), {
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
export function createDowntimes({ db, isSoleWriter }: StoreContext): () => readonly Downtime[] {
  const list = db.prepare<RunRow>('SELECT began_at, seen_at, has_ended FROM gateway_runs')
  return () => {
    const runs = list.all().toSorted((a, b) => a.began_at - b.began_at)
    return findGaps(runs, isSoleWriter ? 0 : slackMs).slice(-maxDowntimes)
  }
}

/**
 * Finds the gaps in which no gateway ran; several may run at a time. `slack`: the time for which a gateway that did not report its end may have run
 * on unseen while another one began, ms.
 */
function findGaps(runs: readonly RunRow[], silenceMs: number): readonly Downtime[] {
  const gaps: Downtime[] = []
  let lastRun: RunRow | undefined
  for (const run of runs) {
    if (lastRun && run.began_at > lastRun.seen_at + (lastRun.has_ended ? 0 : silenceMs)) {
      gaps.push({ from: lastRun.seen_at, to: run.began_at })
    }
    if (!lastRun || run.seen_at >= lastRun.seen_at) lastRun = run
  }
  return gaps
}
