// Finds the agent of each row, by which a distributed PostgreSQL would choose its shard.
import type { DatabaseSync } from 'node:sqlite'

export interface AgentPaths {
  /** The tables whose rows belong to no single agent. */
  readonly otherTables: readonly string[]
  /** Returns the columns of a table that determine its agent: `agent`, references to rows of an agent, and the row's own number. */
  columnsOf(table: string): readonly string[]
  /** Returns the agent of the rows with this value in a column of `columnsOf`. Returns undefined for NULL, and for a row that is gone. */
  findAgent(column: TableColumn, value: unknown): string | undefined
}

interface TableColumn {
  readonly table: string
  readonly column: string
}

interface TableShape {
  readonly hasAgent: boolean
  /** The primary key if it is one column, or undefined. */
  readonly number: string | undefined
  readonly references: readonly { readonly from: string; readonly table: string }[]
}

/** Reads the columns and the references of all tables. */
export function readAgentPaths(db: DatabaseSync): AgentPaths {
  const shapes = readShapes(db)
  const isOfAgent = (table: string, seen: readonly string[] = []): boolean => {
    const shape = shapes.get(table)
    if (!shape || seen.includes(table)) return false
    return shape.hasAgent || shape.references.some(parent => isOfAgent(parent.table, [...seen, table]))
  }
  const listReferences = (table: string) =>
    (shapes.get(table)?.references ?? []).filter(({ table: to }) => isOfAgent(to))

  function findAgent({ table, column }: TableColumn, value: unknown, seen: readonly string[] = []): string | undefined {
    if (value === null || value === undefined) return undefined
    if (column === 'agent') return String(value)
    const parent = listReferences(table).find(({ from }) => from === column)?.table ?? table
    const number = shapes.get(parent)?.number
    if (number === undefined || seen.includes(parent)) return undefined
    const row = db.prepare(`SELECT * FROM ${parent} WHERE ${number} = ?`).get(Number(value))
    if (typeof row?.agent === 'string') return row.agent
    const agents = listReferences(parent).map(({ from }) =>
      findAgent({ table: parent, column: from }, row?.[from], [...seen, parent]),
    )
    return agents.find(agent => agent !== undefined)
  }

  return {
    otherTables: [...shapes.keys()].filter(table => !isOfAgent(table)),
    columnsOf(table) {
      if (!isOfAgent(table)) return []
      const shape = shapes.get(table)
      const ownColumns = [shape?.hasAgent ? 'agent' : undefined, shape?.number].filter(name => name !== undefined)
      return [...ownColumns, ...listReferences(table).map(({ from }) => from)]
    },
    findAgent: (column, value) => findAgent(column, value),
  }
}

function readShapes(db: DatabaseSync): ReadonlyMap<string, TableShape> {
  const list = <Row>(sql: string) => db.prepare(sql).all() as Row[]
  const tables = list<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
  )
  return new Map(
    tables.map(({ name: table }) => {
      const columns = list<{ name: string; pk: number }>(`PRAGMA table_info(${table})`)
      const keys = columns.filter(({ pk }) => pk > 0)
      const shape = {
        hasAgent: columns.some(({ name }) => name === 'agent'),
        number: keys.length === 1 ? keys[0]?.name : undefined,
        references: list<{ from: string; table: string }>(`PRAGMA foreign_key_list(${table})`),
      }
      return [table, shape] as const
    }),
  )
}

/** Lists the unique keys of tables of agents that lack every column that determines the agent, except for a row's own number. */
export function listUnshardedKeys(db: DatabaseSync, paths: AgentPaths): readonly string[] {
  const indexes = db
    .prepare(
      `SELECT t.name AS tbl, group_concat(c.name) AS columns FROM sqlite_schema t
       JOIN pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c
       WHERE t.type = 'table' AND i."unique" = 1 GROUP BY t.name, i.name`,
    )
    .all()
    .map(row => ({ table: String(row.tbl), columns: String(row.columns).split(',') }))
  return indexes
    .filter(({ table, columns }) => {
      const agentColumns = paths.columnsOf(table)
      return agentColumns.length > 0 && !columns.some(name => agentColumns.includes(name))
    })
    .map(({ table, columns }) => `${table} (${columns.join()})`)
}
