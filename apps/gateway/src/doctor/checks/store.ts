import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ConfigError } from '@postern/core'
import { inspectSqlite, isPostgresUrl } from '@postern/store'
import type { PostgresStanding } from '@postern/store/postgres'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { hasRole } from '../../config/own-schema.ts'
import { readBackupTime } from '../../platform/backup-time.ts'
import { loadPostgres } from '../../platform/load-postgres.ts'
import { createPlatform, noLog } from '../../platform/platform.ts'
import type { Check } from '../check.ts'
import { about, describeError, oncePerRun, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

/** What is remembered, and where. */
export const storeChecks: readonly Check[] = [
  {
    id: 'store.database',
    what: 'The database is there and sound: the check reads a file from end to end, or asks the server.',
    fix: 'Put the file back from a backup, or start the database server.',
    timeoutMs: 25_000,
    run: checkDatabase,
  },
  {
    id: 'store.server_version',
    what: 'PostgreSQL is of a release that gets security fixes.',
    fix: 'Upgrade PostgreSQL.',
    needs: ['postgres'],
    run: checkServer(judgeServerVersion),
  },
  {
    id: 'store.server_rights',
    what: 'The user of the gateway may make and change its tables in PostgreSQL.',
    fix: 'Grant CREATE and USAGE on the schema to the user.',
    needs: ['postgres'],
    run: checkServer(judgeServerRights),
  },
  {
    id: 'store.server_clock',
    what: "PostgreSQL's clock agrees with ours, to two seconds.",
    fix: 'Let both machines keep time by NTP.',
    needs: ['postgres'],
    async run(deps) {
      const { mostSkewMs } = await loadPostgres()
      return checkServer(standing => judgeServerClock(standing, mostSkewMs))(deps)
    },
  },
  {
    id: 'store.server_latency',
    what: 'A statement to PostgreSQL takes less than 20 ms there and back.',
    fix: 'Run the gateway in the same network as the database.',
    needs: ['postgres'],
    run: checkServer(judgeServerLatency),
  },
  {
    id: 'store.server_transport',
    what: 'TLS protects the connection to a PostgreSQL on another machine.',
    fix: 'Add `?sslmode=verify-full` to the URL of `store`.',
    needs: ['postgres'],
    run: checkServer(judgeServerTransport),
  },
  {
    id: 'store.workers',
    what: 'A gateway at this PostgreSQL takes up turns and deliveries.',
    fix: 'Start a gateway with the role `worker` at this database.',
    needs: ['postgres'],
    run: deps => checkServer(standing => judgeWorkers(standing, deps.config))(deps),
  },
  {
    id: 'store.files',
    what: 'The gateway can write a file to the S3 bucket, read it and delete it.',
    fix: 'Correct `web.storage`: endpoint, bucket, keys and rights.',
    needs: ['gateway'],
    timeoutMs: 20_000,
    run: checkByteStore,
  },
  {
    id: 'store.backup',
    what: 'The last backup by `postern backup` is no older than a week.',
    fix: 'Run `postern backup` every day, and keep the copies elsewhere.',
    needs: ['sqlite'],
    run: checkBackupAge,
  },
]

type DatabaseDeps = Pick<DoctorDeps, 'config' | 'directory' | 'now'>

const inspectServer = oncePerRun(async ({ config, now }: DatabaseDeps) => {
  const { inspectPostgres } = await loadPostgres()
  return inspectPostgres(config.store, now)
})

/** Whether the database is there and good enough, seen from here: a file is read from end to end. */
async function checkDatabase(deps: DatabaseDeps): Promise<CheckOutcome> {
  const { config, directory } = deps
  try {
    if (isPostgresUrl(config.store)) {
      const { version, place } = await inspectServer(deps)
      return about('PostgreSQL', ok(`the database ${place} answers, PostgreSQL ${version}`))
    }
    const path = join(directory, 'postern.db')
    inspectSqlite(path)
    return about(path, ok('the store is a file in the data folder, and its pages are sound'))
  } catch (error) {
    if (error instanceof ConfigError) return toFailure(error)
    throw error
  }
}

/** A judgement of a server that answers. */
function checkServer(judge: (standing: PostgresStanding) => Verdict): (deps: DatabaseDeps) => Promise<CheckOutcome> {
  return async deps => {
    try {
      const standing = await inspectServer(deps)
      return about(standing.place, judge(standing))
    } catch (error) {
      if (error instanceof ConfigError) return skip('PostgreSQL', 'it cannot be asked; see store.database')
      throw error
    }
  }
}

/** Releases that get no fixes any more are older (PostgreSQL versioning policy). */
const oldestSupported = 14

export function judgeServerVersion({ version }: Pick<PostgresStanding, 'version'>): Verdict {
  return version < oldestSupported
    ? warning(`PostgreSQL ${version} gets no security fixes any more`, `Upgrade it to ${oldestSupported} or later.`)
    : ok(`PostgreSQL ${version}`)
}

function judgeServerRights({ mayCreate, schema }: Pick<PostgresStanding, 'mayCreate' | 'schema'>): Verdict {
  return mayCreate
    ? ok(`the user may make and change the tables of the schema "${schema}"`)
    : failure(
        `the user may not make tables in the schema "${schema}": the next release cannot start`,
        `GRANT CREATE, USAGE ON SCHEMA ${schema} TO the user; or GRANT CREATE ON DATABASE where there is no such schema.`,
      )
}

/** Leases are given by one gateway's clock and end by another's. */
function judgeServerClock({ skewMs }: Pick<PostgresStanding, 'skewMs'>, mostSkewMs: number): Verdict {
  return skewMs > mostSkewMs
    ? warning(`the database server's clock is ${skewMs / 1000} s away from ours`, 'Let both keep time by NTP.')
    : ok(`the clocks agree to ${skewMs} ms`)
}

function judgeServerLatency({ roundTripMs }: Pick<PostgresStanding, 'roundTripMs'>): Verdict {
  const seen = `one statement takes ${roundTripMs.toFixed(1)} ms there and back`
  const fix = 'Run the gateway in the same network as the database: a message takes several statements.'
  if (roundTripMs > 100) return failure(`${seen}: answers are slow`, fix)
  return roundTripMs > 20 ? warning(seen, fix) : ok(seen)
}

export function judgeServerTransport({ isExposed, place }: Pick<PostgresStanding, 'isExposed' | 'place'>): Verdict {
  return isExposed
    ? warning(
        `what is said to the database ${place} goes over the network as it is`,
        'Add ?sslmode=verify-full (and sslrootcert=…) to the URL of "store".',
      )
    : ok('nobody on the way reads what is said to the database')
}

/** Where none does, messages wait. */
function judgeWorkers({ workers }: Pick<PostgresStanding, 'workers'>, config: DatabaseDeps['config']): Verdict {
  if (hasRole(config, 'worker')) return ok('this gateway takes up turns and deliveries itself')
  return workers > 0
    ? ok(`${workers} of the gateways at this database take up turns and deliveries`)
    : failure(
        'no gateway at this database takes up turns: messages wait',
        'Start a gateway with the role "worker" at this database.',
      )
}

const bytes = Buffer.from('postern doctor')
const fix = 'Correct the storage in the configuration: endpoint, bucket, keys, and the right to put, get and delete.'

/** Puts a small object into the store of files, reads it, and removes it. */
async function checkByteStore(deps: DoctorDeps): Promise<CheckOutcome> {
  const { slices } = requireOpened(deps)
  const platform = createPlatform(deps.config, { log: noLog, slices: [] })
  try {
    const [store] = slices.flatMap(({ module, config }) => module.openBytes?.(config, platform) ?? [])
    if (!store) return skip('files', 'files are kept in the database')
    const key = `doctor/${randomUUID()}`
    await store.write(key, bytes, 'text/plain')
    const read = await store.read(key)
    await store.remove(key)
    const rest = await store.read(key)
    if (!read || !bytes.equals(read))
      return about('files', failure('a file that was put there comes back changed', fix))
    return rest === undefined
      ? about('files', ok('a file can be put there, read and deleted'))
      : about('files', failure('a file that was deleted is still there', fix))
  } catch (error) {
    return about('files', failure(`the store of files does not work: ${describeError(error)}`, fix))
  } finally {
    platform.close()
  }
}

const dayMs = 86_400_000
const mostDays = 7

/** The age of the last copy that `postern backup` made; other ways are not known here. */
function checkBackupAge({ directory, now }: Pick<DoctorDeps, 'directory' | 'now'>): CheckOutcome {
  const at = readBackupTime(directory)
  if (at === undefined) return skip('backup', '"postern backup" was never run on this data folder')
  const days = Math.floor((now() - at) / dayMs)
  return about(
    'backup',
    days > mostDays
      ? warning(
          `the last backup is ${days} days old`,
          'Run "postern backup <folder>" every day, and keep it elsewhere.',
        )
      : ok(`the last backup is ${days} days old`),
  )
}
