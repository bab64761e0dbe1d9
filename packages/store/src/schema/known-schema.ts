// Refuses a database whose tables match no schema version of this release.
import { ConfigError } from '@postern/message'
import type { TableNames } from './expected-tables.ts'
import { findTableDifference, listExpectedTables } from './expected-tables.ts'

/** A database with tables, as its engine describes it. */
interface DatabaseSchema {
  /** The key of the configuration that names the database. */
  readonly key: 'data' | 'store' | 'backup'
  /** The name for operators: the path of the file in quotes, or the database and its schema. */
  readonly name: string
  readonly version: number
  /** True if the database has the mark that releases with numbered migrations write. */
  readonly isMarked: boolean
  readonly readTables: () => TableNames
}

const newerReleaseFix = 'Start that release or a later one.'
const unreleasedProgramFix =
  'Export its conversations with that program, then move it away: the gateway makes a new one, into which you import them.'

/**
 * Refuses a database that this release must not change. Only version 1 may lack the mark, because releases of that time did not write it.
 * @throws ConfigError that names the database, its writer and the fix
 */
export function refuseUnknownSchema(
  { key, name, version, isMarked, readTables }: DatabaseSchema,
  migrations: readonly string[],
): void {
  if (version > migrations.length && isMarked) {
    const versions = `its tables have number ${version}, and this release knows ${migrations.length}`
    throw new ConfigError(key, `${name} was written by a newer release (${versions})`, newerReleaseFix)
  }
  const difference =
    version > migrations.length
      ? `its tables have number ${version}, but not the mark of a release`
      : findTableDifference(listExpectedTables(migrations.slice(0, version)), readTables())
  if (difference === undefined) return
  throw new ConfigError(
    key,
    `${name} was written by a program that was never released (${difference})`,
    unreleasedProgramFix,
  )
}
