import { join } from 'node:path'
import { ConfigError } from '@postern/core'
import { inspectSqlite, isPostgresUrl } from '@postern/store'
import type { PostgresStanding } from '@postern/store/postgres'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { loadPostgres } from '../../platform/load-postgres.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

type DatabaseDeps = Pick<DoctorDeps, 'config' | 'directory' | 'now'>

/** Several checks of one run ask for it. */
const known = new WeakMap<DatabaseDeps, Promise<PostgresStanding>>()

function inspectServer(deps: DatabaseDeps): Promise<PostgresStanding> {
  const inspect = async () => (await loadPostgres()).inspectPostgres(deps.config.store, deps.now)
  const inspected = known.get(deps) ?? inspect()
  known.set(deps, inspected)
  return inspected
}

/** Whether the database is there and good enough, seen from here: a file is read from end to end. */
export async function checkDatabase(deps: DatabaseDeps): Promise<CheckOutcome> {
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
export function checkServer(
  judge: (standing: PostgresStanding) => Verdict,
): (deps: DatabaseDeps) => Promise<CheckOutcome> {
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

export function judgeServerRights({ mayCreate, schema }: Pick<PostgresStanding, 'mayCreate' | 'schema'>): Verdict {
  return mayCreate
    ? ok(`the user may make and change the tables of the schema "${schema}"`)
    : failure(
        `the user may not make tables in the schema "${schema}": the next release cannot start`,
        `GRANT CREATE, USAGE ON SCHEMA ${schema} TO the user; or GRANT CREATE ON DATABASE where there is no such schema.`,
      )
}

/** Leases are given by one gateway's clock and end by another's. */
export function judgeServerClock({ skewMs }: Pick<PostgresStanding, 'skewMs'>, mostSkewMs: number): Verdict {
  return skewMs > mostSkewMs
    ? warning(`the database server's clock is ${skewMs / 1000} s away from ours`, 'Let both keep time by NTP.')
    : ok(`the clocks agree to ${skewMs} ms`)
}

export function judgeServerLatency({ roundTripMs }: Pick<PostgresStanding, 'roundTripMs'>): Verdict {
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
