// Reads the databases in `fixtures/schema`. The first program of each number made its database.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const folder = fileURLToPath(new URL('../../../../fixtures/schema', import.meta.url))

const readFixture = (name: string, file: string) => gunzipSync(readFileSync(join(folder, name, file)))

/** Returns the numbers that have a fixture, in their order. */
export function listFixtureNumbers(): readonly number[] {
  const names = readdirSync(folder).filter(name => /^\d+$/.test(name))
  return names.map(Number).sort((one, other) => one - other)
}

/** Writes the database of a number, or `unreleased`, to `path`. */
export function writeFixture(name: string, path: string): string {
  writeFileSync(path, readFixture(name, 'postern.db.gz'))
  return path
}

/** Returns the statements that create the database of a number, or `unreleased`, in `schema`. Lines of `psql` itself are left out. */
export function readPostgresFixture(name: string, schema: string): string {
  const dump = readFixture(name, 'postgres.sql.gz').toString('utf8')
  return dump.replace(/^\\.*$/gm, '').replaceAll(/\bfixture\b(?=[.;])/g, schema)
}
