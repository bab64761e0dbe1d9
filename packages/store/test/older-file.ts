import { DatabaseSync } from 'node:sqlite'
import type { SqlValue } from '../src/engine/database.ts'
import { migrations } from '../src/schema/migrate.ts'

export type StoredRow = Readonly<Record<string, SqlValue>>

/** A file as the first `version` migrations make one, with the rows of `filled` as far as it has room for them. */
export function createOlderFile(filled: DatabaseSync, version: number): DatabaseSync {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  for (const migration of migrations.slice(0, version)) db.exec(migration)
  db.exec(`PRAGMA user_version = ${version}`)
  // What they count is among the rows already.
  const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  for (const table of listTables(db)) copyRows(filled, db, table)
  for (const { sql } of triggers) db.exec(String(sql))
  return db
}

function copyRows(from: DatabaseSync, to: DatabaseSync, table: string): void {
  const columns = listColumns(to, table)
  const places = columns.map(() => '?').join(', ')
  const insert = to.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`)
  for (const row of readRows(from, table, columns)) insert.run(...columns.map(column => row[column] ?? null))
}

export function listTables(db: DatabaseSync): readonly string[] {
  const own = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
  return db
    .prepare(own)
    .all()
    .map(({ name }) => String(name))
}

export function listColumns(db: DatabaseSync, table: string): readonly string[] {
  return db
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => String(name))
}

export function readRows(
  db: DatabaseSync,
  table: string,
  columns: readonly string[] = listColumns(db, table),
): readonly StoredRow[] {
  return db.prepare(`SELECT ${columns.join(', ')} FROM ${table}`).all() as unknown as readonly StoredRow[]
}
