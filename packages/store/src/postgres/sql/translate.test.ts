import { expect, test } from 'vitest'
import { collectPortedStatements } from '../../../test/collect-statements.ts'
import { secondVersion } from '../../../test/second-version.ts'
import { schemaMigrations } from '../../schema/migrations.ts'
import { listStatements } from '../migrate.ts'
import { translateQuery } from './translate-query.ts'
import { translateSchema } from './translate-schema.ts'

test.each([
  ["SELECT a FROM t WHERE b = ? AND c = '?' AND d = ?", "SELECT a FROM t WHERE b = $1 AND c = '?' AND d = $2"],
  ['SELECT a FROM t WHERE b = ?2 AND c = ?1', 'SELECT a FROM t WHERE b = $2 AND c = $1'],
  ['SELECT a FROM t INDEXED BY t_b WHERE b IS ?', 'SELECT a FROM t  WHERE b IS NOT DISTINCT FROM $1'],
  ['SELECT a FROM t LIMIT +? OFFSET +?', 'SELECT a FROM t LIMIT nullif(CAST($1 AS BIGINT), -1) OFFSET $2'],
  ['SELECT max(a), max(b, min(c, 1)) FROM t', 'SELECT max(a), greatest(b, least(c, 1)) FROM t'],
  ['SELECT a FROM (SELECT (b) AS a FROM t)', 'SELECT a FROM (SELECT (b) AS a FROM t) AS selected_0'],
  ['SELECT a FROM (SELECT b AS a FROM t) n', 'SELECT a FROM (SELECT b AS a FROM t) n'],
  ['INSERT OR IGNORE INTO t (a) VALUES (?)', 'INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING'],
  ["DELETE FROM t WHERE a NOT GLOB 'web:*'", "DELETE FROM t WHERE a NOT LIKE 'web:%'"],
  ['SELECT a FROM t WHERE (?1 IS NULL OR b = ?1)', 'SELECT a FROM t WHERE (b = $1 OR $1 IS NULL)'],
])('translateQuery() translates %s for PostgreSQL', (sql, told) => {
  expect(translateQuery(sql)).toBe(told)
})

/** Idioms of SQLite that have no translation. `ON CONFLICT (…) DO UPDATE` must name its columns, and the old value with its table. */
const untranslatable =
  /ON CONFLICT DO UPDATE|OR REPLACE|OR IGNORE|\browid\b|json_array\(|json_set|json_group|json_each|strftime|unixepoch|\biif\(|->|group_concat|\btotal\(|GLOB|INDEXED|LIMIT \+/i

test('no translated statement keeps SQLite syntax', async () => {
  const statements = await collectPortedStatements()
  expect(statements.length).toBeGreaterThan(40)
  expect(statements.map(translateQuery).filter(sql => untranslatable.test(sql.replace(/'[^']*'/g, "''")))).toEqual([])
})

test('a new database gets all tables, indexes and triggers of a file, without steps that change rows', () => {
  const made = listStatements(0, 'postern').join(';\n')
  const names = schemaMigrations.join('\n').matchAll(/CREATE (?:TABLE|TRIGGER|(?:UNIQUE )?INDEX) (\w+)/g)
  for (const [, name] of names) expect(made).toMatch(new RegExp(`CREATE (TABLE|TRIGGER|(UNIQUE )?INDEX) ${name}\\b`))
  expect(made).not.toMatch(/\b(STRICT|WITHOUT ROWID|REFERENCES|BLOB|AUTOINCREMENT|GLOB)\b/)
  expect(made.match(/^(INSERT|UPDATE|DELETE).*/gm)).toEqual([
    `INSERT INTO store_version VALUES (${schemaMigrations.length})`,
  ])
})

test('a step that changes rows keeps no SQLite syntax, and runs only on a database with rows', () => {
  const steps = [...schemaMigrations, secondVersion]
  const isOnRows = (sql: string) => /^(INSERT|UPDATE|DELETE|WITH)\b/.test(sql)
  const later = listStatements(schemaMigrations.length, 'postern', steps)
  expect(later.at(-1)).toBe(`UPDATE store_version SET version = (${steps.length})`)
  const ofRows = later.filter(isOnRows)
  expect(ofRows.length).toBeGreaterThan(2)
  expect(ofRows.filter(sql => untranslatable.test(sql.replace(/'[^']*'/g, "''")))).toEqual([])
  expect(listStatements(0, 'postern', steps).filter(isOnRows)).toHaveLength(1)
})

test('a migration that drops a trigger also drops its function', () => {
  expect(translateSchema('DROP TRIGGER b;', { isFirst: false })).toEqual(['DROP FUNCTION b() CASCADE'])
})

test('a trigger becomes a function and a trigger that calls it', () => {
  const sql = 'CREATE TRIGGER b AFTER DELETE ON t WHEN OLD.a = 1 BEGIN\n  DELETE FROM u WHERE a = OLD.a;\nEND;'
  expect(translateSchema(sql, { isFirst: true })).toEqual([
    'CREATE FUNCTION b() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \n  DELETE FROM u WHERE a = OLD.a;\n RETURN NULL; END $$',
    'CREATE TRIGGER b AFTER DELETE ON t FOR EACH ROW WHEN (OLD.a = 1) EXECUTE FUNCTION b()',
  ])
})
