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
  close(): void
}

/** Prepares once what is run often. `LIMIT +?`, never `LIMIT ?`: a bare one is compiled anew whenever its value is bound. */
export function prepareQuery<Row = unknown>(db: Database, sql: string): Query<Row> {
  return db.prepare(sql) as unknown as Query<Row>
}

/** Of a row that was just inserted. */
export function newIdOf(row: { readonly id: number } | undefined): number {
  if (!row) throw new Error('nothing was inserted')
  return row.id
}

export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}
