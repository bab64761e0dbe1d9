// Translates statements from the SQL of SQLite to that of PostgreSQL.
/** The idioms of SQLite with the idioms of PostgreSQL. Everything else in the store's statements is valid in both dialects. */
const idioms: readonly (readonly [RegExp, string])[] = [
  // PostgreSQL has no hints for indexes.
  [/\bINDEXED BY \w+/g, ''],
  // In SQLite, -1 means all rows.
  [/\bLIMIT -1\b/g, ''],
  [/\bLIMIT \+(\?\d*)/g, 'LIMIT nullif(CAST($1 AS BIGINT), -1)'],
  [/\b(LIMIT|OFFSET) \+(\?\d*|\d+)/g, '$1 $2'],
  [/\bIS (\?\d*)/g, 'IS NOT DISTINCT FROM $1'],
  [/\bGLOB '([^'*?[%_]*)\*'/g, "LIKE '$1%'"],
  // PostgreSQL cannot infer the type of a parameter that is first compared with NULL.
  [/(\?\d+) IS NULL OR ([\w.]+) = \1(?!\d)/g, '$2 = $1 OR $1 IS NULL'],
  // SQLite's `lower` changes only ASCII letters.
  [/\blower\(/g, 'ascii_lower('],
  [/\binstr\(/g, 'strpos('],
  [/\bjson_each\b/g, 'json_list'],
  // SQLite has only shard 0.
  [/\bshard = 0\b/g, 'shard = own_shard()'],
  [/\bAS INTEGER\)/g, 'AS BIGINT)'],
  [/\bAS TEXT\)/g, 'AS TEXT) COLLATE "C"'],
]

/** Translates a statement of the store from SQLite to PostgreSQL. */
export function translateQuery(sql: string): string {
  const ignoresConflicts = /^\s*INSERT OR IGNORE\b/.test(sql)
  const sqlWithConflicts = ignoresConflicts ? `${sql.replace('OR IGNORE ', '')} ON CONFLICT DO NOTHING` : sql
  return numberParameters(nameSubqueries(translateMaxToGreatest(translateIdioms(sqlWithConflicts))))
}

export function translateIdioms(sql: string): string {
  return idioms.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), sql)
}

/** Numbers the parameters. Each `?` gets the next number, and `?3` becomes `$3`. Literals stay unchanged. */
function numberParameters(sql: string): string {
  let lastNumber = 0
  return sql.replace(/'[^']*'|\?(\d*)/g, (token, number: string | undefined) => {
    if (token.startsWith("'")) return token
    if (number) return `$${number}`
    lastNumber += 1
    return `$${lastNumber}`
  })
}

const scalarNames: Readonly<Record<string, string>> = { max: 'greatest', min: 'least' }

/** Renames `max` and `min` of several values, which are functions of a row in SQLite and not aggregates. */
export function translateMaxToGreatest(sql: string): string {
  return sql.replace(/\b(max|min)\(/g, (token, name: string, at: number) =>
    hasSeveralArguments(sql, at + token.length) ? `${scalarNames[name]}(` : token,
  )
}

function hasSeveralArguments(sql: string, start: number): boolean {
  const end = findClosing(sql, start)
  let depth = 0
  for (const letter of sql.slice(start, end)) {
    if (letter === ',' && depth === 0) return true
    depth += depthChange(letter)
  }
  return false
}

/** Names the subqueries in FROM, because PostgreSQL before 16 requires a name for each of them. */
function nameSubqueries(sql: string): string {
  const closingIndexes = [...sql.matchAll(/\bFROM \(/g)].map(
    ({ index, 0: match }) => findClosing(sql, index + match.length) + 1,
  )
  const unnamedIndexes = closingIndexes.filter(index => !/^ (?!WHERE|ORDER|GROUP|LIMIT)\w/.test(sql.slice(index)))
  return unnamedIndexes
    .toSorted((a, b) => b - a)
    .reduce((text, index, at) => `${text.slice(0, index)} AS selected_${at}${text.slice(index)}`, sql)
}

/** Returns the index of the parenthesis that closes the one opened before `start`. */
function findClosing(sql: string, start: number): number {
  let depth = 0
  for (let index = start; index < sql.length; index += 1) {
    depth += depthChange(sql.charAt(index))
    if (depth < 0) return index
  }
  return sql.length
}

function depthChange(letter: string): number {
  return letter === '(' ? 1 : letter === ')' ? -1 : 0
}
