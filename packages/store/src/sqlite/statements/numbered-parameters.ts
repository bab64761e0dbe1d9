import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

/**
 * Lets statements take `?1` by position. `node:sqlite` of Node 22.18 and 22.19 takes such parameters only by their names;
 * on a later Node this does nothing.
 */
export function takeNumberedParameters(db: DatabaseSync): void {
  if (takesNumbers(db)) return
  const prepare = db.prepare.bind(db)
  db.prepare = sql => nameNumbers(prepare(sql), sql)
}

function takesNumbers(db: DatabaseSync): boolean {
  try {
    return db.prepare('SELECT ?1 AS value').get(1)?.value === 1
  } catch {
    return false
  }
}

const methods = ['run', 'get', 'all', 'iterate'] as const

function nameNumbers(statement: StatementSync, sql: string): StatementSync {
  const numbered = new Set(Array.from(sql.matchAll(/\?(\d+)/g), ([, number]) => Number(number)))
  if (numbered.size === 0) return statement
  for (const name of methods) {
    const method = statement[name].bind(statement) as (...values: unknown[]) => never
    statement[name] = (...values: unknown[]) => method(...toNamedFirst(values as SQLInputValue[], numbered))
  }
  return statement
}

/** The numbered values by their names, then those of every plain `?` in order. */
export function toNamedFirst(values: readonly SQLInputValue[], numbered: ReadonlySet<number>): readonly unknown[] {
  const named = values.flatMap((value, index) => (numbered.has(index + 1) ? [[`?${index + 1}`, value] as const] : []))
  return [Object.fromEntries(named), ...values.filter((_, index) => !numbered.has(index + 1))]
}
