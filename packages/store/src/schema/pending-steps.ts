// Describes the changes that a start would make to a database of an earlier release.
import { ConfigError, formatList } from '@postern/message'
import type { TableNames } from './expected-tables.ts'
import { listExpectedTables } from './expected-tables.ts'
import { schemaSteps } from './steps.ts'

/** Describes the changes that a start would make to a database of this number. Returns undefined if there are none. */
export function describePendingSteps(number: number, steps: readonly string[] = schemaSteps): string | undefined {
  if (number === 0 || number >= steps.length) return undefined
  const added = listAdded(listExpectedTables(steps.slice(0, number)), listExpectedTables(steps))
  const changes = added.length > 0 ? `adds ${formatList(added)}` : 'rewrites rows'
  return `its tables have number ${number}, and a start of this release makes it ${steps.length} (${changes})`
}

/** Lists new tables, and new columns of existing tables. */
function listAdded(before: TableNames, after: TableNames): readonly string[] {
  return [...after.columns].flatMap(([table, columns]) => {
    const own = before.columns.get(table)
    if (!own) return [`the table "${table}"`]
    return [...columns].filter(column => !own.has(column)).map(column => `"${table}.${column}"`)
  })
}

interface PendingDatabase {
  readonly key: 'data' | 'store'
  /** The name for operators: the path of the file in quotes, or the database and its schema. */
  readonly name: string
  /** The result of `describePendingSteps`. */
  readonly pending: string | undefined
}

/** Refuses to work with a database whose tables only a start may change. @throws ConfigError */
export function refusePendingSteps({ key, name, pending }: PendingDatabase): void {
  if (pending === undefined) return
  throw new ConfigError(key, `${name} is of an earlier release: ${pending}`, pendingFix)
}

export const pendingFix: string =
  'Back the data up, then start the gateway of this release. Until then, only the release that wrote the data reads it.'
