// Describes the changes that a start would make to a database of an earlier release.
import { ConfigError, formatList } from '@postern/message'
import type { TableNames } from './expected-tables.ts'
import { listExpectedTables } from './expected-tables.ts'
import { schemaMigrations } from './migrations.ts'

/** Describes the migrations that a start would run on a database of this version. Returns undefined if there are none. */
export function describePendingMigrations(
  version: number,
  migrations: readonly string[] = schemaMigrations,
): string | undefined {
  if (version === 0 || version >= migrations.length) return undefined
  const additions = listAdditions(listExpectedTables(migrations.slice(0, version)), listExpectedTables(migrations))
  const changes = additions.length > 0 ? `adds ${formatList(additions)}` : 'rewrites rows'
  return `its tables have number ${version}, and a start of this release makes it ${migrations.length} (${changes})`
}

/** Lists new tables, and new columns of existing tables. */
function listAdditions(oldTables: TableNames, newTables: TableNames): readonly string[] {
  return [...newTables.columns].flatMap(([table, columns]) => {
    const existingColumns = oldTables.columns.get(table)
    if (!existingColumns) return [`the table "${table}"`]
    return [...columns].filter(column => !existingColumns.has(column)).map(column => `"${table}.${column}"`)
  })
}

interface PendingDatabase {
  readonly key: 'data' | 'store'
  /** The name for operators: the path of the file in quotes, or the database and its schema. */
  readonly name: string
  /** The result of `describePendingMigrations`. */
  readonly pendingChanges: string | undefined
}

/** Refuses a database that needs migrations, because only the start of a gateway may run them. @throws ConfigError */
export function refusePendingMigrations({ key, name, pendingChanges: pending }: PendingDatabase): void {
  if (pending === undefined) return
  throw new ConfigError(key, `${name} is of an earlier release: ${pending}`, pendingMigrationsAdvice)
}

export const pendingMigrationsAdvice: string =
  'Back the data up, then start the gateway of this release. Until then, only the release that wrote the data can read it.'
