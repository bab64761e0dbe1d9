import { DatabaseSync } from 'node:sqlite'
import { parseJsonText } from '@postern/core'

export type SqlValue = null | number | string | Uint8Array

/** A prepared statement and the shape of the rows it yields. */
export interface Query<Row = unknown> {
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  run(...values: SqlValue[]): { readonly changes: number }
}

/** What the store asks of an engine: statements that are run at once, within this process. `node:sqlite` is one as it is. */
export interface Database {
  prepare(sql: string): {
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
    run(...values: SqlValue[]): unknown
  }
  exec(sql: string): void
  /** Whether a transaction has begun that is neither committed nor undone. */
  readonly isTransaction: boolean
  /** Runs operations that only read, each as if it were alone; absent: one after another. */
  readTogether?<T>(readings: readonly (() => T)[]): readonly T[]
  /** What runs an INSERT tells its `lastInsertRowid`. */
  readonly knowsLastInsert?: boolean
  close(): void
}

/**
 * Prepares once what is run often. `LIMIT +?`, never `LIMIT ?`, and of messages `via IN (?)`, never `via = ?`: SQLite compiles a statement anew
 * at every run whose plan might be another one for another value, such as for the `via` of a partial index.
 */
export function prepareQuery<Row = unknown>(db: Database, sql: string): Query<Row> {
  return db.prepare(sql) as unknown as Query<Row>
}

/**
 * Prepares an INSERT of one row, which tells what `id` it has been given. SQLite knows its last one by itself: for RETURNING it makes a table of
 * its own at every run, which costs as much as the row.
 */
export function prepareInsert(db: Database, sql: string, id = 'id'): (...values: SqlValue[]) => number {
  if (db instanceof DatabaseSync || db.knowsLastInsert) {
    const insert = db.prepare(sql)
    return (...values) => Number((insert.run(...values) as { readonly lastInsertRowid: number }).lastInsertRowid)
  }
  const insert = prepareQuery<{ id: number }>(db, `${sql} RETURNING ${id} AS id`)
  return (...values) => {
    const row = insert.get(...values)
    if (!row) throw new Error('nothing was inserted')
    return row.id
  }
}

/** Readings of many things of one kind: where the database is far, they share the ways to it. */
export function readTogether<Readings extends readonly (() => unknown)[]>(
  db: Database,
  readings: readonly [...Readings],
): { readonly [At in keyof Readings]: ReturnType<Readings[At]> } {
  const values = db.readTogether ? db.readTogether(readings) : readings.map(read => read())
  return values as { readonly [At in keyof Readings]: ReturnType<Readings[At]> }
}

export function parseJson<T>(text: string): T {
  return parseJsonText(text) as T
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}
