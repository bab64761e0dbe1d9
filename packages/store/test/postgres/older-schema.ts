import type { DatabaseSync } from 'node:sqlite'
import { listStatements } from '../../src/postgres/prepare.ts'
import { readerOf, writeValue } from '../../src/postgres/sql/values.ts'
import type { StoredRow } from '../older-file.ts'
import { listColumns, listTables, readRows } from '../older-file.ts'
import { askServer, readServer } from './test-server.ts'

/** The schema of a database as the first `version` migrations make it, with the rows of a file of that version. */
export async function createOlderSchema(file: DatabaseSync, schema: string, version: number): Promise<void> {
  await askServer(`CREATE SCHEMA ${schema}`)
  await askServer(listStatements(0, schema, version).join(';\n'), schema)
  // What triggers count is among the rows already.
  await askServer('SET session_replication_role = replica')
  for (const table of listTables(file)) await copyRows(file, schema, table)
  await askServer('RESET session_replication_role')
  await goOnNumbering(schema)
}

async function copyRows(file: DatabaseSync, schema: string, table: string): Promise<void> {
  const columns = listColumns(file, table)
  const places = columns.map((_, at) => `$${at + 1}`).join(', ')
  const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`
  for (const row of readRows(file, table)) {
    const values = columns.map(column => writeValue(row[column] ?? null))
    await askServer(insert, schema, values)
  }
}

/** What is inserted next has the next number. */
async function goOnNumbering(schema: string): Promise<void> {
  const numbered = await askServer<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '${schema}' AND is_identity = 'YES'`,
  )
  for (const { table_name, column_name } of numbered) {
    await askServer(
      `SELECT setval(pg_get_serial_sequence('${table_name}', '${column_name}'), max(${column_name})) FROM ${table_name}`,
      schema,
    )
  }
}

/** All rows of a table, as the store reads them. */
export async function readSchemaRows(schema: string, table: string): Promise<readonly StoredRow[]> {
  const { fields, rows } = await readServer(`SELECT * FROM ${table}`, schema)
  return rows.map(row =>
    Object.fromEntries(
      fields.map(({ name, type }, at) => {
        const text = row[at] ?? null
        return [name, text === null ? null : readerOf(type)(text)] as const
      }),
    ),
  )
}
