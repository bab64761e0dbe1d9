// Compares the tables of a database with the expected tables of its schema version.
import { DatabaseSync } from 'node:sqlite'
import type { FileDatabase } from '../sql/file-sql.ts'
import { fileSqlOf } from '../sql/file-sql.ts'

/** The names of a database's columns by table, and the names of its triggers. */
export interface TableNames {
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>
  readonly triggers: ReadonlySet<string>
}

interface NamedRow {
  readonly owner: string
  readonly name: string
}

/** Collects the names of columns and triggers from the rows in which both engines list them. */
export function collectTableNames(columns: readonly NamedRow[], triggers: readonly { name: string }[]): TableNames {
  const columnsByTable = new Map<string, Set<string>>()
  for (const { owner, name } of columns) columnsByTable.set(owner, (columnsByTable.get(owner) ?? new Set()).add(name))
  return { columns: columnsByTable, triggers: new Set(triggers.map(({ name }) => name)) }
}

/** Reads the names of the columns and triggers of a file. */
export function readTableNames(db: FileDatabase): TableNames {
  const columns = fileSqlOf(db).prepare<NamedRow>(
    "SELECT t.name AS owner, c.name AS name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite|_%' ESCAPE '|'",
  )
  const triggers = fileSqlOf(db).prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
  return collectTableNames(columns.all(), triggers.all())
}

/** Runs the migrations on a database in memory, and returns the names of its columns and triggers. */
export function listExpectedTables(steps: readonly string[]): TableNames {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  try {
    for (const step of steps) db.exec(step)
    return readTableNames(db)
  } finally {
    db.close()
  }
}

/**
 * Compares the tables of a database with the expected ones. Further tables and indexes are ignored, because operators may add their own.
 * @returns a description of the first difference, or undefined if there is none
 */
export function findTableDifference(expected: TableNames, actual: TableNames): string | undefined {
  for (const [table, columns] of expected.columns) {
    const actualColumns = actual.columns.get(table)
    if (!actualColumns) return `it has no table "${table}"`
    const missingColumn = [...columns].find(column => !actualColumns.has(column))
    if (missingColumn) return `its table "${table}" has no column "${missingColumn}"`
    const extraColumn = [...actualColumns].find(column => !columns.has(column))
    if (extraColumn) return `its table "${table}" has a column "${extraColumn}"`
  }
  const trigger = [...expected.triggers].find(name => !actual.triggers.has(name))
  return trigger && `it has no trigger "${trigger}"`
}
