// Checks the database, the file storage and the backup.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { AbsentObjects } from '@postern/message'
import { ConfigError } from '@postern/message'
import {
  findPendingMigrations,
  inspectSqlite,
  isPostgresUrl,
  loadPostgres,
  pendingMigrationsAdvice,
} from '@postern/store'
import type { PostgresStanding } from '@postern/store/postgres'
import { readBackupTime } from '../../backup-time.ts'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { oncePerRun, outcomeFor, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'

export const storeChecks: readonly Check[] = [
  {
    id: 'store.database',
    description: 'The database is there and sound: the check reads a file from end to end, or asks the server.',
    fix: 'Put the file back from a backup, or start the database server.',
    timeoutMs: 25_000,
    run: checkDatabase,
  },
  {
    id: 'store.schema',
    description: 'The tables are those of this release, so that a start changes none.',
    fix: 'Back the data up, then start the gateway of this release.',
    run: checkSchema,
  },
  {
    id: 'store.setup',
    description:
      'The data is that of this origin, and each gateway that runs on it has the same agents and trusts the same issuers.',
    fix: 'Name the store of this gateway, or give all gateways the same configuration.',
    needs: ['gateway'],
    run: checkSetup,
  },
  {
    id: 'store.server_version',
    description: 'PostgreSQL is of a release that gets security fixes.',
    fix: 'Upgrade PostgreSQL.',
    needs: ['postgres'],
    run: checkServer(judgeServerVersion),
  },
  {
    id: 'store.server_rights',
    description: 'The user of the gateway may make and change its tables in PostgreSQL.',
    fix: 'Grant CREATE and USAGE on the schema to the user.',
    needs: ['postgres'],
    run: checkServer(judgeServerRights),
  },
  {
    id: 'store.server_clock',
    description: "PostgreSQL's clock agrees with ours, to two seconds.",
    fix: 'Let both machines keep time by NTP.',
    needs: ['postgres'],
    async run(deps) {
      const { maxSkewMs: mostSkewMs } = await loadPostgres()
      return checkServer(standing => judgeServerClock(standing, mostSkewMs))(deps)
    },
  },
  {
    id: 'store.server_latency',
    description: 'A statement to PostgreSQL takes less than 20 ms there and back.',
    fix: 'Run the gateway in the same network as the database.',
    needs: ['postgres'],
    run: checkServer(judgeServerLatency),
  },
  {
    id: 'store.server_transport',
    description: 'TLS protects the connection to a PostgreSQL on another machine.',
    fix: 'Add `?sslmode=verify-full` to the URL of `store`.',
    needs: ['postgres'],
    run: checkServer(judgeServerTransport),
  },
  {
    id: 'store.workers',
    description: 'A gateway at this PostgreSQL takes up turns and deliveries.',
    fix: 'Start a gateway with the role `worker` at this database.',
    needs: ['postgres'],
    run: deps => checkServer(standing => judgeWorkers(standing, deps.config))(deps),
  },
  {
    id: 'store.files',
    description:
      'The gateway can write a file to the S3 bucket, read and delete it, and the present storage has every file of the database.',
    fix: 'Correct `web.storage`: endpoint, bucket, keys and rights. Copy the files there that are in a former storage.',
    needs: ['gateway'],
    timeoutMs: 20_000,
    run: checkFiles,
  },
  {
    id: 'store.backup',
    description: 'The last backup by `postern backup` is no older than a week.',
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

/** Checks that the data belongs to this gateway. The check is skipped in dev mode, because the data may come from a simulation. */
async function checkSetup(deps: DoctorDeps): Promise<CheckOutcome> {
  if (deps.config.dev) return skip('store', 'dev mode: the data may be a simulation’s')
  const fault = await requireOpened(deps).findSetupFault()
  return fault ? toFailure(fault) : outcomeFor('store', ok('the data is that of this gateway'))
}

/** Checks that the database exists and is intact. It reads a database file from end to end. */
async function checkDatabase(deps: DatabaseDeps): Promise<CheckOutcome> {
  const { config, directory } = deps
  try {
    if (isPostgresUrl(config.store)) {
      const { version, location } = await inspectServer(deps)
      return outcomeFor('PostgreSQL', ok(`the database ${location} answers, PostgreSQL ${version}`))
    }
    const path = join(directory, 'postern.db')
    inspectSqlite(path)
    return outcomeFor(path, ok('the store is a file in the data folder, and its pages are sound'))
  } catch (error) {
    if (error instanceof ConfigError) return toFailure(error)
    throw error
  }
}

/** Checks the schema. It opens the store without the permission to change it. */
async function checkSchema(deps: DatabaseDeps): Promise<CheckOutcome> {
  const { config, directory } = deps
  try {
    const pendingSteps = isPostgresUrl(config.store)
      ? (await inspectServer(deps)).pendingSteps
      : findPendingMigrations(join(directory, 'postern.db'))
    return outcomeFor(
      'store',
      pendingSteps === undefined ? ok('a start changes no table') : failure(pendingSteps, pendingMigrationsAdvice),
    )
  } catch (error) {
    if (error instanceof ConfigError) return skip('store', 'it cannot be read; see store.database')
    throw error
  }
}

/** Creates a check of a PostgreSQL server that answers. */
function checkServer(judge: (standing: PostgresStanding) => Verdict): (deps: DatabaseDeps) => Promise<CheckOutcome> {
  return async deps => {
    try {
      const standing = await inspectServer(deps)
      return outcomeFor(standing.location, judge(standing))
    } catch (error) {
      if (error instanceof ConfigError) return skip('PostgreSQL', 'it cannot be asked; see store.database')
      throw error
    }
  }
}

/** The oldest release of PostgreSQL that still gets fixes (PostgreSQL versioning policy). */
const oldestSupportedVersion = 14

export function judgeServerVersion({ version }: Pick<PostgresStanding, 'version'>): Verdict {
  return version < oldestSupportedVersion
    ? warning(
        `PostgreSQL ${version} no longer gets security fixes`,
        `Upgrade it to ${oldestSupportedVersion} or later.`,
      )
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

/** Judges the clock difference. A lease may begin by one gateway’s clock and end by another’s. */
function judgeServerClock({ skewMs }: Pick<PostgresStanding, 'skewMs'>, mostSkewMs: number): Verdict {
  return skewMs > mostSkewMs
    ? warning(`the database server's clock is ${skewMs / 1000} s away from ours`, 'Let both keep time by NTP.')
    : ok(`the clocks agree to ${skewMs} ms`)
}

function judgeServerLatency({ roundTripMs }: Pick<PostgresStanding, 'roundTripMs'>): Verdict {
  const observation = `one statement takes ${roundTripMs.toFixed(1)} ms there and back`
  const fix = 'Run the gateway in the same network as the database: a message takes several statements.'
  if (roundTripMs > 100) return failure(`${observation}: answers are slow`, fix)
  return roundTripMs > 20 ? warning(observation, fix) : ok(observation)
}

export function judgeServerTransport({
  isExposed,
  location,
}: Pick<PostgresStanding, 'isExposed' | 'location'>): Verdict {
  return isExposed
    ? warning(
        `the connection to the database ${location} is not encrypted`,
        'Add ?sslmode=verify-full (and sslrootcert=…) to the URL of "store".',
      )
    : ok('nobody on the network can read the connection to the database')
}

/** Judges whether a gateway processes messages. They wait if none does. */
function judgeWorkers({ workers }: Pick<PostgresStanding, 'workers'>, config: DatabaseDeps['config']): Verdict {
  if (config.roles.includes('worker')) return ok('this gateway takes up turns and deliveries itself')
  return workers > 0
    ? ok(`${workers} of the gateways at this database take up turns and deliveries`)
    : failure(
        'no gateway at this database takes turns, so messages wait',
        'Start a gateway with the role "worker" at this database.',
      )
}

const probeBytes = Buffer.from('postern doctor')
const storageFix =
  'Correct the storage in the configuration: endpoint, bucket, keys, and the right to put, get and delete.'

async function checkFiles(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const storageOutcome = await checkByteStore(deps)
  if (storageOutcome.verdict === 'failure') return [storageOutcome]
  const absentObjects = await requireOpened(deps).store.objects.findAbsentObjects()
  return absentObjects.length === 0 ? [storageOutcome] : absentObjects.map(describeAbsentObjects)
}

/** Describes files that exist only in a former storage. Their addresses no longer work. */
function describeAbsentObjects({ storage = 'a former storage', files, checked, absent }: AbsentObjects): CheckOutcome {
  const message = `${absent} of ${checked} checked files are not in the present storage; the database lists ${files} files of "${storage}"`
  return outcomeFor(
    storage,
    failure(message, 'Copy the files into the present storage, or configure the former one again.'),
  )
}

/** Stores a small object in the file storage, reads it, and removes it. */
async function checkByteStore(deps: DoctorDeps): Promise<CheckOutcome> {
  try {
    return await requireOpened(deps).withFileStorage(async store => {
      if (!store) return skip('files', 'files are kept in the database')
      const key = `doctor/${randomUUID()}`
      await store.write(key, probeBytes, 'text/plain')
      const storedBytes = await store.read(key)
      await store.remove(key)
      const remainingBytes = await store.read(key)
      if (!storedBytes || !probeBytes.equals(storedBytes))
        return outcomeFor('files', failure('a stored file comes back changed', storageFix))
      return remainingBytes === undefined
        ? outcomeFor('files', ok('a file can be written, read and deleted'))
        : outcomeFor('files', failure('a deleted file still exists', storageFix))
    })
  } catch (error) {
    return outcomeFor('files', failure(`the store of files does not work: ${describeError(error)}`, storageFix))
  }
}

const dayMs = 86_400_000
const maxBackupDays = 7

/** Checks the age of the last `postern backup`. It does not know of backups by other programs. */
function checkBackupAge({ directory, now }: Pick<DoctorDeps, 'directory' | 'now'>): CheckOutcome {
  const takenAt = readBackupTime(directory)
  if (takenAt === undefined) return skip('backup', '"postern backup" was never run on this data folder')
  const days = Math.floor((now() - takenAt) / dayMs)
  return outcomeFor(
    'backup',
    days > maxBackupDays
      ? warning(
          `the last backup is ${days} days old`,
          'Run "postern backup <folder>" every day, and keep it elsewhere.',
        )
      : ok(`the last backup is ${days} days old`),
  )
}
