// Records the start of a gateway, unless the data belong to another setup.
import type { RunSetup, SetupDifference, WhyStore } from '@postern/pipeline'
import type { InProcessTurns } from '../../queue/turns/in-process-turns.ts'
import { formatJson, parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

/** The maximum number of runs in the table. */
const maxRuns = 200
/** The time after which a gateway without a report counts as ended, ms. A running gateway reports every minute. */
const maxSilenceMs = 90_000

/**
 * The time after a crash for which messages must be durable before their turns begin, ms. So the store can count the crashes that one message
 * causes, even if its peer sends the message again.
 */
const crashCautionMs = 3_600_000

/** Creates the functions that record the start of a gateway and compare its setup with the stored one. */
export function createRunStarter(
  { db, write, now, isSoleWriter }: StoreContext,
  inProcessTurns: Pick<InProcessTurns, 'delayContinuations'>,
): Pick<WhyStore, 'beginGatewayRun' | 'findSetupDifference'> {
  const insert = db.prepare('INSERT INTO gateway_runs (holder, began_at, seen_at, setup) VALUES (?1, ?2, ?2, ?3)')
  const prune = db.prepare('DELETE FROM gateway_runs WHERE id <= (SELECT max(id) FROM gateway_runs) - ?')
  const findNewest = db.prepare<{ at: string }>('SELECT at FROM messages WHERE seq = (SELECT max(seq) FROM messages)')
  const extend = db.prepare(
    `UPDATE gateway_runs SET seen_at = max(seen_at, CAST(? AS INTEGER)) WHERE has_ended = 0 AND id = (SELECT max(id) FROM gateway_runs)`,
  )
  const findDifference = createDifferenceSearch({ db, now, isSoleWriter })
  const storeSetting = db.prepare(
    'INSERT INTO store_setup (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const findLastCrash = db.prepare<{ seen_at: number | null }>(
    `SELECT max(seen_at) AS seen_at FROM gateway_runs WHERE has_ended = 0 AND holder <> ? AND NOT (${db.rowLocks.isRunning('gateway_runs.holder')})`,
  )
  /** Extends the last run, if its gateway was killed, to the time of the newest message that it stored. */
  function* extendKilledRun(): Operation<void> {
    const newest = Date.parse((yield* findNewest.get())?.at ?? '')
    if (newest <= now()) extend.run(newest)
  }

  return {
    findSetupDifference: setup => db.read(() => findDifference('', setup, { adopts: false })),
    beginGatewayRun: (holder, setup, { adopts = false } = {}) =>
      write(
        function* (batch) {
          const difference = yield* findDifference(holder, setup, { adopts })
          if (difference) return difference
          if (isSoleWriter) yield* extendKilledRun()
          const crashedAt = (yield* findLastCrash.get(holder))?.seen_at ?? undefined
          if (crashedAt !== undefined)
            batch.begins.push(() => inProcessTurns.delayContinuations(crashedAt + crashCautionMs))
          for (const name of ['mode', 'origin'] as const) storeSetting.run(name, setup[name])
          insert.run(holder, now(), formatJson({ ...setup }))
          prune.run(maxRuns)
          return undefined
        },
        { conflictKeys: () => ['gateway runs'] },
      ),
  }
}

type FindDifference = (
  holder: string,
  setup: RunSetup,
  options: { readonly adopts: boolean },
) => Operation<SetupDifference | undefined>

/** Prepares the comparison of a setup with the stored one, unless the gateway adopts the data, and with the setups of running gateways. */
function createDifferenceSearch({
  db,
  now,
  isSoleWriter,
}: Pick<StoreContext, 'db' | 'now' | 'isSoleWriter'>): FindDifference {
  const listRunning = db.prepare<{ setup: string }>(
    'SELECT setup FROM gateway_runs WHERE has_ended = 0 AND seen_at > ? AND holder <> ? AND setup IS NOT NULL',
  )
  const listStoredSettings = db.prepare<{ name: 'mode' | 'origin'; value: string }>(
    'SELECT name, value FROM store_setup',
  )
  return function* (holder, setup, { adopts }) {
    const storedSettings = Object.fromEntries((yield* listStoredSettings.all()).map(({ name, value }) => [name, value]))
    const setupDifference = adopts
      ? undefined
      : findFirstDifference({ ...setup, ...storedSettings }, setup, { isRunning: false })
    if (setupDifference || isSoleWriter) return setupDifference
    const runningGateways = yield* listRunning.all(now() - maxSilenceMs, holder)
    return runningGateways
      .map(row => findFirstDifference(parseJson(row.setup), setup, { isRunning: true }))
      .find(difference => difference !== undefined)
  }
}

/** Finds the first difference of two setups. The origin of a simulation may change, because real peers do not know the data of a simulation. */
function findFirstDifference(
  storedSetup: RunSetup,
  currentSetup: RunSetup,
  { isRunning }: Pick<SetupDifference, 'isRunning'>,
): SetupDifference | undefined {
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
