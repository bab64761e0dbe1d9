import { join } from 'node:path'
import { ConfigError } from '@postern/core'
import { inspectSqlite, isPostgresUrl } from '@postern/store'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { Config } from '../../config/schema.ts'
import { loadPostgres } from '../../platform/load-postgres.ts'

/** Whether the database is there and good enough, seen from here. `directory`: the data folder. */
export async function checkStore(
  { store }: Pick<Config, 'store'>,
  { directory, now }: { readonly directory: string; readonly now: () => number },
): Promise<Verdict> {
  try {
    if (!isPostgresUrl(store)) {
      inspectSqlite(join(directory, 'postern.db'))
      return ok('the store is a file in the data folder, and its pages are sound')
    }
    const { inspectPostgres, mostSkewMs } = await loadPostgres()
    const { version, place, skewMs, isExposed } = await inspectPostgres(store, now)
    if (skewMs > mostSkewMs) {
      return warning(`the database server's clock is ${skewMs / 1000} s away from ours`, 'Let both keep time by NTP.')
    }
    if (isExposed) {
      const fix = 'Add ?sslmode=verify-full (and sslrootcert=…) to the URL of "store".'
      return warning(`what is said to the database ${place} goes over the network as it is`, fix)
    }
    return ok(`the database ${place} answers, PostgreSQL ${version}`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return failure(error.message, error.fix)
  }
}
