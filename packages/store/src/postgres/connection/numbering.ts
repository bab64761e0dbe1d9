// Reserves the numbers of new rows before their insertion.
import type { Operation } from '../../sql/operation.ts'
import type { PendingStatement } from './statement-session.ts'
import { waitForResult } from './statement-session.ts'

/** An INSERT whose only result is the number of its row. */
export interface NumberedInsert {
  readonly table: string
  readonly column: string
  /** The name under which the caller gets the number. */
  readonly name: string
  /** The statement, with a parameter for the number after all others. */
  readonly sql: string
}

const numberedInsertPattern =
  /^\s*INSERT INTO (\w+) \(([\w,\s]+)\)\s+VALUES \(([^()]*)\)\s+RETURNING (\w+)(?: AS (\w+))?\s*$/

export function readNumberedInsert(sql: string): NumberedInsert | undefined {
  const [, table, columns, values, column, name = column] = numberedInsertPattern.exec(sql) ?? []
  if (!table || !columns || !values || !column || !name || /\?\d/.test(values)) return undefined
  return { table, column, name, sql: `INSERT INTO ${table} (${columns}, ${column}) VALUES (${values}, ?)` }
}

/** Names of sequences by their tables. */
export type Sequences = ReadonlyMap<string, string>

export function formatSequenceName({ table, column }: Pick<NumberedInsert, 'table' | 'column'>): string {
  return `${table}_${column}_seq`
}

/** Queues a query. */
type QueueQuery = (text: string, values: readonly number[]) => PendingStatement

/**
 * Assigns the numbers of new rows in the gateway, so that an insertion need not wait for the server. The numbers come from the sequences of the
 * server, after the transaction has its locks. So a row of a thread with a higher number also becomes visible later. Some numbers stay unused.
 */
interface RowNumbering {
  /** Begins a transaction. `rows` is the approximate number of new rows in each table. */
  begin(rows: number): void
  takeNumber(table: string): Operation<number>
}

/** The tables for which most transactions number rows. */
const usualTables: ReadonlySet<string> = new Set(['messages', 'threads', 'tasks'])
/** The size of each further block of numbers for one table. */
const furtherBlockSize = 16

interface Block {
  readonly pending: PendingStatement
  /** The unused numbers in ascending order. Undefined until the server has sent them. */
  unusedNumbers: number[] | undefined
}

export function createRowNumbering(sequences: Sequences, queueQuery: QueueQuery): RowNumbering {
  const blocks = new Map<string, Block>()

  function requestNumbers(tables: readonly string[], count: number): void {
    if (tables.length === 0) return
    const columns = tables.map(table => `string_agg(CAST(nextval('${sequences.get(table)}') AS TEXT), ',') AS ${table}`)
    const pending = queueQuery(`SELECT ${columns.join(', ')} FROM generate_series(1, CAST($1 AS INT))`, [count])
    for (const table of tables) blocks.set(table, { pending, unusedNumbers: undefined })
  }

  function* readBlock(table: string, block: Block): Operation<number[]> {
    const { rows } = yield* waitForResult(block.pending)
    block.unusedNumbers ??= String(rows[0]?.[table]).split(',').map(Number)
    return block.unusedNumbers
  }

  return {
    begin(rows) {
      blocks.clear()
      const tables = [...sequences.keys()].filter(table => usualTables.has(table))
      if (rows > 0) requestNumbers(tables, rows)
    },
    *takeNumber(table) {
      for (;;) {
        const block = blocks.get(table)
        const number = block && (yield* readBlock(table, block)).shift()
        if (number !== undefined) return number
        requestNumbers([table], furtherBlockSize)
      }
    },
  }
}
