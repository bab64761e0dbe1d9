import type { StepResult } from './pipelined-run.ts'

/** An INSERT that asks for nothing but the number of its row. */
export interface NumberedInsert {
  readonly table: string
  readonly column: string
  /** What the caller knows the number by. */
  readonly name: string
  /** With a place for the number behind all others. */
  readonly sql: string
}

const shape = /^\s*INSERT INTO (\w+) \(([\w,\s]+)\)\s+VALUES \(([^()]*)\)\s+RETURNING (\w+)(?: AS (\w+))?\s*$/

export function readNumberedInsert(sql: string): NumberedInsert | undefined {
  const [, table, columns, values, column, name = column] = shape.exec(sql) ?? []
  if (!table || !columns || !values || !column || !name || /\?\d/.test(values)) return undefined
  return { table, column, name, sql: `INSERT INTO ${table} (${columns}, ${column}) VALUES (${values}, ?)` }
}

export function readInsertedTable(sql: string): string | undefined {
  return /\bINSERT (?:OR \w+ )?INTO (\w+)/.exec(sql)?.[1]
}

/** Asks the server, with what waits to be sent. */
interface NumberingLine<Pending> {
  add(text: string, values: readonly number[]): Pending
  resultOf(pending: Pending): StepResult
}

/**
 * Numbers of new rows, given here: who is the only writer until the end of the transaction need not wait for the server to tell them. Its sequences
 * are read when the transaction begins and moved on before it ends, so that what is numbered later is also seen later.
 */
interface Numbering {
  addTable(insert: NumberedInsert): void
  begin(): void
  next(table: string): number
  /** The server numbers rows of this table now. */
  letGo(table: string): void
  end(): void
}

export function createNumbering<Pending>({ add, resultOf }: NumberingLine<Pending>): Numbering {
  const sequences = new Map<string, string>()
  /** By table, of this transaction. */
  const looks = new Map<string, Pending>()
  const last = new Map<string, number>()

  function look(tables: readonly string[]): void {
    if (tables.length === 0) return
    const columns = tables.map(
      table => `(SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM ${sequences.get(table)}) AS ${table}`,
    )
    const pending = add(`SELECT ${columns.join(', ')}`, [])
    for (const table of tables) looks.set(table, pending)
  }

  function readLast(table: string): number {
    if (!looks.has(table)) look([table])
    const pending = looks.get(table)
    return Number(pending && resultOf(pending).rows[0]?.[table])
  }

  function moveOn(table: string): void {
    const number = last.get(table)
    if (number !== undefined) add(`SELECT setval('${sequences.get(table)}', $1)`, [number])
    last.delete(table)
    looks.delete(table)
  }

  return {
    addTable({ table, column }) {
      sequences.set(table, `${table}_${column}_seq`)
    },
    begin() {
      looks.clear()
      last.clear()
      look([...sequences.keys()])
    },
    next(table) {
      const number = (last.get(table) ?? readLast(table)) + 1
      last.set(table, number)
      return number
    },
    letGo: moveOn,
    end() {
      for (const table of [...last.keys()]) moveOn(table)
    },
  }
}
