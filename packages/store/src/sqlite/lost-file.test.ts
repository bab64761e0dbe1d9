import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { ConfigError, Unavailable } from '@postern/message'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { inspectSqlite, openSqliteStore } from '../index.ts'

async function openAt(path: string, log = discardLog, checkEveryMs?: number) {
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path,
    now: Date.now,
    log,
    exclusive: true,
    checkEveryMs,
  })
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}

const sketchLarge = (id: string, length: number) =>
  sketchIntake(id, { raw: { bytes: new Uint8Array(length).fill(120), form: 'text' } })

/** Opens a store that has written some 400 pages, and collects its error logs. */
async function openUsed() {
  const path = join(makeDirectory(), 'postern.db')
  const error = vi.fn()
  const store = await openAt(path, { ...discardLog, error })
  for (let at = 0; at < 40; at += 1) await store.admit(sketchLarge(`m${at}`, 40_000), 'c')
  return { path, store, error }
}

/** Overwrites pages of a file in its middle. */
function flipPages(path: string): void {
  const bytes = readFileSync(path)
  for (let at = 4096 * 2; at < bytes.length; at += 1) bytes[at] = 255 - (bytes[at] ?? 0)
  writeFileSync(path, bytes)
}

type Loss = (path: string) => void

test.each<[string, Loss, RegExp]>([
  ['disappears', path => rmSync(path), /postern\.db is gone$/],
  ['moves away', path => renameSync(path, `${path}.old`), /postern\.db is gone$/],
  [
    'gives its place to a copy',
    path => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
    /postern\.db is another file/,
  ],
  ['loses its log', path => rmSync(`${path}-wal`), /postern\.db-wal is gone$/],
  ['loses its index', path => rmSync(`${path}-shm`), /postern\.db-shm is gone$/],
])(
  'the store accepts nothing more and logs one error when its file %s under a running gateway',
  async (how, lose, fault) => {
    const { path, store, error } = await openUsed()
    await store.checkWork()
    lose(path)
    const lost = await store.checkWork().catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(Unavailable)
    const fix = /log|index/.test(how) ? /^Stop the gateway with SIGTERM/ : /from a backup/
    expect(lost).toMatchObject({ cause: { key: 'data', fix: expect.stringMatching(fix) } })
    await expect(store.admit(sketchIntake('late'), 'c')).rejects.toThrow('Cannot store: the database is lost')
    expect(error.mock.calls).toEqual([
      [
        expect.objectContaining({ fault: expect.stringMatching(fault) }),
        'the database is lost: nothing is stored any more',
      ],
    ])
  },
)

test('the store writes again when its file is back', async () => {
  const { path, store } = await openUsed()
  await store.checkWork()
  renameSync(path, `${path}.aside`)
  await expect(store.checkWork()).rejects.toThrow(Unavailable)
  renameSync(`${path}.aside`, path)
  await store.checkWork()
})

test.each([0, 8_192])('the store writes nothing more to a file that shrinks to %i bytes', async size => {
  const { path, store } = await openUsed()
  // Rows in the log move to the file, and a later row makes its new size known.
  await store.rewriteFiles()
  await store.checkWork()
  expect(statSync(path).size).toBeGreaterThan(100_000)
  truncateSync(path, size)
  await expect(store.checkWork()).rejects.toThrow(Unavailable)
  await expect(store.admit(sketchIntake('late'), 'c')).rejects.toThrow(Unavailable)
})

test('the store still writes to a file that VACUUM made smaller', async () => {
  const { path, store } = await openUsed()
  await store.rewriteFiles()
  const before = statSync(path).size
  await store.checkWork()
  const other = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  other.exec('DELETE FROM blobs; DELETE FROM messages; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  expect(statSync(path).size).toBeLessThan(before / 2)
  await store.checkWork()
})

test('the store stops all writes and logs one error when pages of its file become damaged', async () => {
  const { path, store } = await openUsed()
  await store.close()
  const error = vi.fn()
  const again = await openAt(path, { ...discardLog, error }, 100)
  await again.checkWork()
  flipPages(path)
  await vi.waitFor(() => expect(again.checkWork()).rejects.toThrow('Cannot store: the database is damaged'), 30_000)
  expect(error.mock.calls.map(([, text]) => text)).toEqual(['the database is damaged: nothing is stored any more'])
})

test('a statement that reads a damaged page stops all writes', async () => {
  const path = join(makeDirectory(), 'postern.db')
  const store = await openAt(path)
  // These are more pages than SQLite's cache holds.
  for (let at = 0; at < 150; at += 1) await store.admit(sketchLarge(`m${at}`, 200_000), 'c')
  await store.close()
  const error = vi.fn()
  const again = await openAt(path, { ...discardLog, error })
  const turns = await again.leaseTurns({ holder: 'worker', limit: 150, leaseMs: 60_000 })
  flipPages(path)
  const reads = await Promise.allSettled(turns.map(async turn => turn.content.raw))
  const failed = reads.filter(each => each.status === 'rejected')
  expect(failed.length).toBeGreaterThan(0)
  for (const each of failed) expect(each.reason).toBeInstanceOf(Unavailable)
  await expect(again.checkWork()).rejects.toThrow('Cannot store: the database is damaged')
  expect(error.mock.calls.map(([, text]) => text)).toEqual(['the database is damaged: nothing is stored any more'])
})

async function refusalAt(path: string): Promise<string> {
  const error = await openAt(path).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  return String((error as Error).message)
}

test('the start refuses a file with damaged pages and names the fix', async () => {
  const { path, store } = await openUsed()
  await store.close()
  flipPages(path)
  expect(await refusalAt(path)).toMatch(/^data: ".*postern\.db" is damaged \(.*\)\. Put it back from a backup, or save/)
  expect(() => inspectSqlite(path)).toThrow('is damaged')
})

test.each<[string, Loss]>([
  ['gone', path => rmSync(path)],
  ['of no length', path => truncateSync(path)],
])('the start refuses a database that is %s where a gateway has worked, until its marker is gone', async (_, lose) => {
  const { path, store } = await openUsed()
  await store.close()
  lose(path)
  expect(await refusalAt(path)).toMatch(/is gone, and .*\.marker tells that there was one\. Put the database back/)
  rmSync(`${path}.marker`)
  await (await openAt(path)).close()
})

test('the start refuses an empty database beside files of large messages, or a log, even without the marker', async () => {
  const path = join(makeDirectory(), 'postern.db')
  const store = await openAt(path)
  await store.admit(sketchLarge('m1', 400_000), 'c')
  copyFileSync(`${path}-wal`, `${path}.kept`)
  await store.close()
  rmSync(path)
  rmSync(`${path}.marker`)
  expect(await refusalAt(path)).toMatch(/postern\.db\.blobs tells that there was one/)
  rmSync(`${path}.blobs`, { recursive: true })
  renameSync(`${path}.kept`, `${path}-wal`)
  expect(await refusalAt(path)).toMatch(/postern\.db-wal tells that there was one/)
  expect(existsSync(`${path}-wal`)).toBe(true)
})

/** Opens a store in another process, which writes and is killed, so that its log stays. */
async function crashAt(path: string): Promise<void> {
  const script = `
    import { openSqliteStore } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../index.ts')).href)}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const store = await openSqliteStore({ channels: [], path: ${JSON.stringify(path)}, now: Date.now, log, exclusive: true })
    await store.readOrCreateSecret('key', async () => 'made')
    console.log('written')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('the start refuses a database without its log after a crash, and opens it when the log is back', async () => {
  const path = join(makeDirectory(), 'postern.db')
  await (await openAt(path)).close()
  await crashAt(path)
  copyFileSync(`${path}-wal`, `${path}.kept`)
  rmSync(`${path}-wal`)
  rmSync(`${path}-shm`)
  expect(await refusalAt(path)).toMatch(/is older than it was: what was written last is not in it\. Put .*-wal back/)
  renameSync(`${path}.kept`, `${path}-wal`)
  const store = await openAt(path)
  expect(await store.hasSecret('key')).toBe(true)
})

test('a store with all its files starts after several crashes', async () => {
  const path = join(makeDirectory(), 'postern.db')
  for (let at = 0; at < 3; at += 1) await crashAt(path)
  const store = await openAt(path)
  expect(await store.hasSecret('key')).toBe(true)
})

test('inspectSqlite() reports nothing before a database exists, and reports a missing one', async () => {
  const path = join(makeDirectory(), 'postern.db')
  expect(() => inspectSqlite(path)).not.toThrow()
  writeFileSync(`${path}.marker`, '{"starts":1}')
  expect(() => inspectSqlite(path)).toThrow(/is gone.*Put the database back from a backup/)
})
