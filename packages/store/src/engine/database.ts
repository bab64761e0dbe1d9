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
  /** Where several processes write at a time: takes a statement that says `is_so`. Whoever runs it undoes a transaction in which that is not so. */
  prepareCheck?(sql: string): (...values: SqlValue[]) => void
  /** Where several processes write at a time: how a statement takes rows for itself. */
  readonly rowLocks?: RowLocks
  /** What runs an INSERT tells its `lastInsertRowid`. */
  readonly knowsLastInsert?: boolean
  close(): void
}

/** Parts of SQL. */
interface RowLocks {
  /** Behind a SELECT: its rows are nobody else's until the end of the transaction. Those that somebody else has are left out. */
  readonly skipLocked: string
  /** Behind a SELECT: waits for who has its rows. */
  readonly wait: string
  /** Whether nobody else touches the thread of this number now; then nobody does until the end of the transaction. */
  isFree(thread: string): string
}

/** Where this process alone writes. */
const noRowLocks: RowLocks = { skipLocked: '', wait: '', isFree: () => '1' }

export function rowLocksOf(db: Database): RowLocks {
  return db.rowLocks ?? noRowLocks
}

/** @returns what does nothing where this process alone writes */
export function prepareCheck(db: Database, sql: string): (...values: SqlValue[]) => void {
  return db.prepareCheck?.(sql) ?? (() => {})
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

/** More of them are no longer rare. */
const most = 100_000

/** What most messages ask for and few find (a block, a withdrawal): who asks for what was never there is answered without a statement. */
interface RareKeys {
  /** To be called when it is written. */
  note(parts: readonly string[]): void
  /** False: it is not there. True: only the table knows. */
  mayHave(parts: readonly string[]): boolean
}

/** Whether this process alone writes the database: only then may it remember what is there. */
export interface Ownership {
  readonly isAlone: boolean
}

/**
 * Keys are only added, so that a transaction that is undone cannot make them wrong.
 * @param sql selects all of them, a column for each part
 */
export function loadRareKeys(db: Database, sql: string, { isAlone }: Ownership): RareKeys {
  if (!isAlone) return { note() {}, mayHave: () => true }
  const rows = prepareQuery<Record<string, string>>(db, `${sql} LIMIT ${most}`).all()
  const keys = new Set(rows.map(row => keyOf(Object.values(row))))
  return {
    note(parts) {
      if (keys.size < most) keys.add(keyOf(parts))
    },
    mayHave: parts => keys.size >= most || keys.has(keyOf(parts)),
  }
}

function keyOf(parts: readonly string[]): string {
  return parts.join('\n')
}
