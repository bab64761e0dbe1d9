// Refuses a database whose tables are not those of a number that this release knows.
import { ConfigError } from '@postern/message'
import type { TableNames } from './expected-tables.ts'
import { findTableDifference, listExpectedTables } from './expected-tables.ts'

/** A database that has tables, as its engine describes it. */
interface FoundSchema {
  /** The key of the configuration that names it. */
  readonly key: 'data' | 'store' | 'backup'
  /** The name for operators: the path of the file in quotes, or the database and its schema. */
  readonly name: string
  readonly number: number
  /** True if it has the mark of programs with numbered steps. */
  readonly isMarked: boolean
  readonly readTables: () => TableNames
}

const laterFix = 'Start that release or a later one.'
const unreleasedFix =
  'Export its conversations with that program, then move it away: the gateway makes a new one, into which you import them.'

/**
 * Refuses a database that this release must not change. Only number 1 may lack the mark, because the databases of its time have none.
 * @throws ConfigError that names the database, its writer and the fix
 */
export function refuseUnknownSchema(
  { key, name, number, isMarked, readTables }: FoundSchema,
  steps: readonly string[],
): void {
  if (number > steps.length && isMarked) {
    const numbers = `its tables have number ${number}, and this release knows ${steps.length}`
    throw new ConfigError(key, `${name} was written by a newer release (${numbers})`, laterFix)
  }
  const difference =
    number > steps.length
      ? `its tables have number ${number}, but not the mark of a release`
      : findTableDifference(listExpectedTables(steps.slice(0, number)), readTables())
  if (difference === undefined) return
  throw new ConfigError(key, `${name} was written by a program that was never released (${difference})`, unreleasedFix)
}
