import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { restoreText } from '../../../src/postgres/sql/values.ts'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

/** Backslashes, escapes, texts that look like escapes, and characters that PostgreSQL stores in no text. */
const pieces = [
  '\\',
  '\\\\',
  'u',
  '\\u',
  'd83d',
  '\\ud83d',
  '\ud83d',
  '\ude00',
  '\u001a',
  '\\u001a',
  '0',
  '1',
  '2d83d',
  '"',
  '\0',
  '\\u0000',
]
const words = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map(drawn => drawn.join(''))

/** Writes half a surrogate pair as one replacement character, because an engine may read it as several. */
const plain = (text: unknown) =>
  String(text)
    .toWellFormed()
    .replace(/\ufffd+/g, '\ufffd')

const queries = {
  member: "SELECT json_extract(CAST($1 AS text), '$.a') AS value",
  deep: "SELECT json_extract(CAST($1 AS text), '$.b.c') AS value",
  rest: "SELECT json_remove(CAST($1 AS text), '$.a') AS value",
} as const

test('both engines read and cut the same JSON for any texts', async () => {
  const { store, url } = await openPostgresTestStore()
  const sqlite = new DatabaseSync(':memory:')
  const readBoth = async (sql: string, doc: string) => {
    const [there] = await askServer<{ value: string }>(sql, schemaOf(url), [doc])
    return [restoreText(String(there?.value)), sqlite.prepare(sql.replaceAll('$1', '?')).get(doc)?.value]
  }
  const compare = async (a: string, c: string) => {
    const doc = JSON.stringify({ a, b: { c } })
    const [member, lite] = await readBoth(queries.member, doc)
    expect(plain(member)).toBe(plain(a))
    // SQLite's own reading ends at a NUL.
    if (!a.includes('\0')) expect(plain(lite)).toBe(plain(a))
    expect(plain((await readBoth(queries.deep, doc))[0])).toBe(plain(c))
    for (const rest of await readBoth(queries.rest, doc)) expect(JSON.parse(String(rest))).toEqual({ b: { c } })
    const [listed] = await askServer<{ value: string }>('SELECT value FROM json_list($1)', schemaOf(url), [
      JSON.stringify([a]),
    ])
    expect(plain(restoreText(String(listed?.value)))).toBe(plain(a))
  }
  await compare('\\ud83d', '\\u0000 and \\u001a')
  await fc.assert(fc.asyncProperty(words, words, compare), { numRuns: 150 })
  sqlite.close()
  await store.close()
})

test('a start replaces a function of another release', async () => {
  const { store, url, reopen } = await openPostgresTestStore()
  await askServer(
    "CREATE OR REPLACE FUNCTION ascii_lower(words text) RETURNS text LANGUAGE sql AS $$ SELECT 'broken' $$",
    schemaOf(url),
  )
  const again = await reopen?.()
  expect(await askServer("SELECT ascii_lower('X') AS low", schemaOf(url))).toEqual([{ low: 'x' }])
  await Promise.all([store.close(), again?.close()])
})
