// Finds statements that a distributed PostgreSQL could not send to the shard of one agent, and transactions of several agents.
import type { DatabaseSync } from 'node:sqlite'
import type { AgentPaths } from './agent-paths.ts'
import type { LoggedTransaction } from './statement-log.ts'

/** The words that may follow a table without being its alias. */
const keywords = /^(ON|WHERE|SET|INDEXED|ORDER|GROUP|LEFT|INNER|CROSS|JOIN|LIMIT|VALUES|SELECT|RETURNING|UNION)$/i

/** Returns the tables of a statement by the names that its query plan uses. */
function readTables(sql: string): ReadonlyMap<string, string> {
  const tables = new Map<string, string>()
  for (const [, table = '', alias = ''] of sql.matchAll(
    /\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?/gi,
  )) {
    tables.set(alias === '' || keywords.test(alias) ? table : alias, table)
  }
  return tables
}

/**
 * Lists the tables of a statement whose rows it does not find by a column that determines their agent, each with the way it finds them. The query plan
 * tells by which columns SQLite searches each table.
 */
export function findCrossings(db: DatabaseSync, paths: AgentPaths, sql: string): readonly string[] {
  const tables = readTables(sql)
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
  const searches = plan.flatMap(({ detail }) => {
    const [, name = '', way = ''] = /^(?:SEARCH|SCAN) (\S+)(?: USING (.*))?$/.exec(String(detail)) ?? []
    const table = tables.get(name)
    if (table === undefined) return []
    const columns = [...way.matchAll(/(\w+)=\?/g)].map(([, column]) => column ?? '')
    return [{ table, way, columns: columns.includes('rowid') ? [...columns, ...paths.columnsOf(table)] : columns }]
  })
  const [, target, list = ''] = /^\s*INSERT INTO (\w+) \(([^)]*)\)/.exec(sql) ?? []
  const inserted = target === undefined ? [] : [{ table: target, way: 'its values', columns: list.split(/\s*,\s*/) }]
  const crossings = [...searches, ...inserted]
    .filter(({ table, columns }) => !columns.some(column => paths.columnsOf(table).includes(column)))
    .map(({ table, way }) =>
      paths.otherTables.includes(table) ? table : `${table} by ${way.replace(/^(COVERING )?INDEX /, '') || 'a scan'}`,
    )
  return [...new Set(crossings)]
}

/** Lists the agents whose rows a transaction finds or inserts. The values of its statements name them, or rows of theirs. */
export function findAgents(paths: AgentPaths, transaction: LoggedTransaction): readonly string[] {
  const agents = transaction.flatMap(({ expandedSql: sql }) => {
    const tables = readTables(sql)
    return listValues(sql).flatMap(({ name, column, value }) => {
      const candidates = name === undefined ? [...tables.values()] : [tables.get(name) ?? '']
      return candidates
        .filter(table => paths.columnsOf(table).includes(column))
        .map(table => paths.findAgent({ table, column }, value))
    })
  })
  return [...new Set(agents.filter(agent => agent !== undefined))].toSorted()
}

interface ColumnValue {
  /** The name of the table; absent if the statement does not say it. */
  readonly name?: string | undefined
  readonly column: string
  readonly value: string | number
}

/** Lists the columns that a statement compares with values, and those that it inserts. */
function listValues(sql: string): readonly ColumnValue[] {
  const compared = [...sql.matchAll(/(?:\b(\w+)\.)?\b(\w+) = ('(?:[^']|'')*'|\d[\d.]*)/g)].map(
    ([, name, column = '', value = '']) => ({ name, column, value: parseValue(value) }),
  )
  const [insertion = '', table, list = ''] = /^\s*INSERT INTO (\w+) \(([^)]*)\)\s*VALUES\s*\(/.exec(sql) ?? []
  if (table === undefined) return compared
  const values = splitValues(sql.slice(insertion.length))
  const inserted = list.split(/\s*,\s*/).map((column, index) => ({ name: table, column, value: values[index] ?? '' }))
  return [
    ...compared,
    ...inserted.filter(({ value }) => /^['\d]/.test(value)).map(each => ({ ...each, value: parseValue(each.value) })),
  ]
}

function parseValue(text: string): string | number {
  return text.startsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : Number(text)
}

/** Splits the values of an insertion up to the parenthesis that closes them. */
function splitValues(text: string): readonly string[] {
  const values: string[] = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|[^']/gs)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (depth < 0) break
    if (token === ',' && depth === 0) values.push('')
    else values.push((values.pop() ?? '') + token)
  }
  return values.map(value => value.trim())
}
