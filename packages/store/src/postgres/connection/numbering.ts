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

/** By the table that each is for. */
export type Sequences = ReadonlyMap<string, string>

export function sequenceOf({ table, column }: Pick<NumberedInsert, 'table' | 'column'>): string {
  return `${table}_${column}_seq`
}

/** Asks the server, with what waits to be sent. */
interface NumberingLine<Pending> {
  add(text: string, values: readonly number[]): Pending
  resultOf(pending: Pending): StepResult
}

/**
 * Numbers of new rows, given here, so that an insert need not wait for the server to tell them. They are taken from its sequences behind the locks of
 * a transaction: what is numbered later in a thread is also seen later. Those that no row gets are left out for good.
 */
interface Numbering {
  /** `rows`: about how many of each table there will be. */
  begin(rows: number): void
  next(table: string): number
}

/** What most transactions number. */
const usual: ReadonlySet<string> = new Set(['messages', 'threads', 'tasks'])
/** So many are taken where there were too few. */
const moreNumbers = 16

interface Block<Pending> {
  readonly pending: Pending
  /** Once the server has told them; the first are used first. */
  left: number[] | undefined
}

export function createNumbering<Pending>(sequences: Sequences, { add, resultOf }: NumberingLine<Pending>): Numbering {
  const blocks = new Map<string, Block<Pending>>()

  function take(tables: readonly string[], count: number): void {
    if (tables.length === 0) return
    const columns = tables.map(table => `string_agg(CAST(nextval('${sequences.get(table)}') AS TEXT), ',') AS ${table}`)
    const pending = add(`SELECT ${columns.join(', ')} FROM generate_series(1, CAST($1 AS INT))`, [count])
    for (const table of tables) blocks.set(table, { pending, left: undefined })
  }

  function readBlock(table: string, block: Block<Pending>): number[] {
    block.left ??= String(resultOf(block.pending).rows[0]?.[table]).split(',').map(Number)
    return block.left
  }

  return {
    begin(rows) {
      blocks.clear()
      const tables = [...sequences.keys()].filter(table => usual.has(table))
      if (rows > 0) take(tables, rows)
    },
    next(table) {
      for (;;) {
        const block = blocks.get(table)
        const number = block && readBlock(table, block).shift()
        if (number !== undefined) return number
        take([table], moreNumbers)
      }
    },
  }
}
