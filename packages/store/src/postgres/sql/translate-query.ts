/** What SQLite says in its own way → what PostgreSQL understands. Everything else in the store is written as both read it. */
const idioms: readonly (readonly [RegExp, string])[] = [
  // The order in which indexes are tried is PostgreSQL's own affair.
  [/\bINDEXED BY \w+/g, ''],
  // -1: all.
  [/\bLIMIT -1\b/g, ''],
  [/\bLIMIT \+(\?\d*)/g, 'LIMIT nullif(CAST($1 AS BIGINT), -1)'],
  [/\b(LIMIT|OFFSET) \+(\?\d*|\d+)/g, '$1 $2'],
  [/\bIS (\?\d*)/g, 'IS NOT DISTINCT FROM $1'],
  [/\bGLOB '([^'*?[%_]*)\*'/g, "LIKE '$1%'"],
  // Of a parameter that is first compared with nothing PostgreSQL does not know what it is.
  [/(\?\d+) IS NULL OR ([\w.]+) = \1(?!\d)/g, '$2 = $1 OR $1 IS NULL'],
  // SQLite's knows only the letters of ASCII.
  [/\blower\(/g, 'ascii_lower('],
  [/\binstr\(/g, 'strpos('],
  [/\bjson_each\b/g, 'json_list'],
  // SQLite has one.
  [/\bshard = 0\b/g, 'shard = own_shard()'],
  [/\bAS INTEGER\)/g, 'AS BIGINT)'],
  [/\bAS TEXT\)/g, 'AS TEXT) COLLATE "C"'],
]

/** A statement of the store, written for SQLite, as PostgreSQL takes it. */
export function translateQuery(sql: string): string {
  const isIgnoring = /^\s*INSERT OR IGNORE\b/.test(sql)
  const plain = isIgnoring ? `${sql.replace('OR IGNORE ', '')} ON CONFLICT DO NOTHING` : sql
  return numberParameters(nameSubqueries(nameGreatest(translateIdioms(plain))))
}

export function translateIdioms(sql: string): string {
  return idioms.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), sql)
}

/** `?` in order, `?3` as it is; not within a literal. */
function numberParameters(sql: string): string {
  let last = 0
  return sql.replace(/'[^']*'|\?(\d*)/g, (found, number: string | undefined) => {
    if (found.startsWith("'")) return found
    if (number) return `$${number}`
    last += 1
    return `$${last}`
  })
}

const scalarNames: Readonly<Record<string, string>> = { max: 'greatest', min: 'least' }

/** `max` and `min` of several values are functions of a row in SQLite, and not aggregates. */
export function nameGreatest(sql: string): string {
  return sql.replace(/\b(max|min)\(/g, (found, name: string, at: number) =>
    hasSeveralArguments(sql, at + found.length) ? `${scalarNames[name]}(` : found,
  )
}

function hasSeveralArguments(sql: string, start: number): boolean {
  const end = findClosing(sql, start)
  let depth = 0
  for (const letter of sql.slice(start, end)) {
    if (letter === ',' && depth === 0) return true
    depth += depthOf(letter)
  }
  return false
}

/** What is selected from has a name in PostgreSQL before 16. */
function nameSubqueries(sql: string): string {
  const places = [...sql.matchAll(/\bFROM \(/g)].map(
    ({ index, 0: found }) => findClosing(sql, index + found.length) + 1,
  )
  const unnamed = places.filter(place => !/^ (?!WHERE|ORDER|GROUP|LIMIT)\w/.test(sql.slice(place)))
  return unnamed
    .toSorted((left, right) => right - left)
    .reduce((text, place, at) => `${text.slice(0, place)} AS selected_${at}${text.slice(place)}`, sql)
}

/** Where the parenthesis closes that was opened before `start`. */
function findClosing(sql: string, start: number): number {
  let depth = 0
  for (let place = start; place < sql.length; place += 1) {
    depth += depthOf(sql.charAt(place))
    if (depth < 0) return place
  }
  return sql.length
}

function depthOf(letter: string): number {
  return letter === '(' ? 1 : letter === ')' ? -1 : 0
}
