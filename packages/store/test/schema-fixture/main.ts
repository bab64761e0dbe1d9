// `npm run schema:fixture`: writes a small database of the newest tables, by this program, for SQLite and for PostgreSQL.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { createCluster, findPostgres } from '@postern/testing/postgres-cluster'
import { openSqliteStore } from '../../src/index.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import type { SystemStore } from '../random-system.ts'
import { Randomness } from '../random-system.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
let time = Date.UTC(2026, 5, 1)
const now = () => time

/** Stores open work, finished work, and one conversation that a test knows. */
async function fill(store: SystemStore['store']): Promise<void> {
  const advance = (ms: number) => {
    time += ms
  }
  const system = new Randomness({ store, now, advance }, 40)
  for (let step = 0; step < 30; step += 1) await system.step()
  await store.admit(sketchIntake('known-1', { message: { thread_source: 'known' } }), 'c')
  advance(60_000)
  for (const turn of await store.leaseTurns({ holder: 'fixture', limit: 99, leaseMs: 1_000 })) {
    if (turn.content.id === 'known-1') await store.commit(turn, sketchAnswer(turn, 'a known answer'))
  }
  await store.admit(sketchIntake('known-2', { message: { thread_source: 'known' } }), 'c')
}

async function writeSqlite(directory: string, folder: string): Promise<void> {
  const path = join(directory, 'postern.db')
  const store = await openSqliteStore({ channels: sketchedChannels, path, now, log })
  await fill(store)
  await store.close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = DELETE; VACUUM')
  db.close()
  writeFileSync(join(folder, 'postern.db.gz'), gzipSync(readFileSync(path), { level: 9 }))
}

async function writePostgres(programs: string, folder: string): Promise<void> {
  const cluster = await createCluster({ programs, settings: ['fsync=off'] })
  try {
    await cluster.start()
    const url = `${cluster.url}?schema=fixture`
    const store = await openPostgresStore({ channels: sketchedChannels, url, now, log })
    await fill(store)
    await store.close()
    const words = ['--inserts', '--no-owner', '--schema=fixture', cluster.url]
    const dump = execFileSync(join(programs, 'pg_dump'), words, { encoding: 'utf8', maxBuffer: 2 ** 28 })
    writeFileSync(join(folder, 'postgres.sql.gz'), gzipSync(dump, { level: 9 }))
  } finally {
    await cluster.remove()
  }
}

const [number] = process.argv.slice(2)
if (!number) throw new Error('Name the number of the tables: npm run schema:fixture -- <number>')
const programs = findPostgres()
if (!programs) throw new Error('The fixture of PostgreSQL needs its programs on this machine: install "postgresql".')
const folder = fileURLToPath(new URL(`../../../../fixtures/schema/${number}`, import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'postern-fixture-'))
try {
  mkdirSync(folder, { recursive: true })
  await writeSqlite(directory, folder)
  time = Date.UTC(2026, 5, 1)
  await writePostgres(programs, folder)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
