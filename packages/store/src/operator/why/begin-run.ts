// Notes that a gateway begins to work on the store, unless the data belong to another setup.
import type { RunSetup, SetupDifference, WhyStore } from '@postern/pipeline'
import type { InProcessTurns } from '../../queue/turns/in-process-turns.ts'
import { rowLocksOf } from '../../sql/engine-defaults.ts'
import { formatJson, parseJson } from '../../sql/json-columns.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

/** The number of runs that stay in the table. */
const maxRuns = 200
/** The time after which a silent gateway counts as ended, ms. A running one reports every minute. */
const aliveMs = 90_000

/**
 * The time after a crash in which messages are durable before their agents get them, ms. The store then counts the crashes of a message that makes its
 * process crash, however often its peer repeats it.
 */
const carefulMs = 3_600_000

/** Creates the beginning of a run, which notes that a gateway runs, and whether one has crashed. */
export function createRunStarter(
  { db, write, now, isSoleWriter }: StoreContext,
  inProcessTurns: Pick<InProcessTurns, 'holdContinuations'>,
): Pick<WhyStore, 'beginGatewayRun' | 'findSetupDifference'> {
  const insert = db.prepare('INSERT INTO gateway_runs (holder, began_at, seen_at, setup) VALUES (?1, ?2, ?2, ?3)')
  const prune = db.prepare('DELETE FROM gateway_runs WHERE id <= (SELECT max(id) FROM gateway_runs) - ?')
  const findNewest = db.prepare<{ at: string }>('SELECT at FROM messages WHERE seq = (SELECT max(seq) FROM messages)')
  const extend = db.prepare(
    `UPDATE gateway_runs SET seen_at = max(seen_at, CAST(? AS INTEGER)) WHERE has_ended = 0 AND id = (SELECT max(id) FROM gateway_runs)`,
  )
  const listRunning = db.prepare<{ setup: string }>(
    'SELECT setup FROM gateway_runs WHERE has_ended = 0 AND seen_at > ? AND holder <> ? AND setup IS NOT NULL',
  )
  const listStored = db.prepare<{ name: 'mode' | 'origin'; value: string }>('SELECT name, value FROM store_setup')
  const storeSetting = db.prepare(
    'INSERT INTO store_setup (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const findCrashed = db.prepare<{ seen_at: number | null }>(
    `SELECT max(seen_at) AS seen_at FROM gateway_runs WHERE has_ended = 0 AND holder <> ? AND NOT (${rowLocksOf(db).isRunning('gateway_runs.holder')})`,
  )
  /** Extends the run of a killed gateway to the newest message that it has stored. */
  function extendKilled(): void {
    const newest = Date.parse(findNewest.get()?.at ?? '')
    if (newest <= now()) extend.run(newest)
  }

  function findDifference(holder: string, setup: RunSetup, adopts: boolean): SetupDifference | undefined {
    const storedSettings = Object.fromEntries(listStored.all().map(({ name, value }) => [name, value]))
    const setupDifference = adopts ? undefined : compareSetups({ ...setup, ...storedSettings }, setup, false)
    if (setupDifference || isSoleWriter) return setupDifference
    const runningGateways = listRunning.all(now() - aliveMs, holder)
    return runningGateways
      .map(row => compareSetups(parseJson(row.setup), setup, true))
      .find(difference => difference !== undefined)
  }

  return {
    findSetupDifference: async setup => findDifference('', setup, false),
    beginGatewayRun: (holder, setup, { adopts = false } = {}) =>
      write(
        batch => {
          const difference = findDifference(holder, setup, adopts)
          if (difference) return difference
          if (isSoleWriter) extendKilled()
          const crashedAt = findCrashed.get(holder)?.seen_at ?? undefined
          if (crashedAt !== undefined) batch.begins.push(() => inProcessTurns.holdContinuations(crashedAt + carefulMs))
          for (const name of ['mode', 'origin'] as const) storeSetting.run(name, setup[name])
          insert.run(holder, now(), formatJson({ ...setup }))
          prune.run(maxRuns)
          return undefined
        },
        { conflictKeys: () => ['gateway runs'] },
      ),
  }
}

/** Compares two setups and returns the first difference. Data of a simulation mean nothing to real peers, so its origin may change. */
function compareSetups(storedSetup: RunSetup, currentSetup: RunSetup, isRunning: boolean): SetupDifference | undefined {
  const facts = [
    'mode',
    ...(currentSetup.mode === 'production' ? (['origin'] as const) : []),
    'agents',
    'issuers',
  ] as const
  return facts
    .map(fact => ({
      fact,
      stored: [storedSetup[fact]].flat().join(', '),
      given: [currentSetup[fact]].flat().join(', '),
      isRunning,
    }))
    .find(setting => setting.stored !== setting.given)
}
