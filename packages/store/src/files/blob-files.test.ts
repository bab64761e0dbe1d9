import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@postern/pipeline'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import { fileThreshold } from './blob-files.ts'

/** The number of bytes that the disk accepts of each file. */
let freeBytes = Number.POSITIVE_INFINITY
/** The removal of a whole file waits for this promise. */
let removal = Promise.resolve()

/** Limits the disk by changing the exports of `node:fs/promises`, which other test files have already loaded. Each test restores them. */
function limitDisk(): void {
  const real = { open: promises.open, rm: promises.rm }
  vi.spyOn(promises, 'open').mockImplementation(async (...args) => {
    const file = await real.open(...args)
    const writeFile = file.writeFile.bind(file)
    file.writeFile = async (data, options) => {
      const bytes = data as Uint8Array
      await writeFile(bytes.subarray(0, Math.min(bytes.byteLength, freeBytes)), options)
      if (bytes.byteLength > freeBytes) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    }
    return file
  })
  vi.spyOn(promises, 'rm').mockImplementation(async (...args) => {
    if (!String(args[0]).endsWith('.part')) await removal
    return real.rm(...args)
  })
  syncBuiltinESMExports()
}

let directory: string
let store: Store

const log = { debug() {}, info() {}, warn() {}, error() {} }
const open = () =>
  openSqliteStore({
    channels: sketchedChannels,
    path: join(directory, 'postern.db'),
    now: Date.now,
    log,
    exclusive: true,
  })

beforeEach(async () => {
  limitDisk()
  directory = mkdtempSync(join(tmpdir(), 'postern-'))
  store = await open()
})
afterEach(async () => {
  freeBytes = Number.POSITIVE_INFINITY
  removal = Promise.resolve()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

const large = randomBytes(fileThreshold + 1)
const digest = hash('sha256', large)
const fileOf = (name: string) => join(directory, 'postern.db.blobs', name.slice(0, 2), name)

function intakeWith(id: string, bytes: Uint8Array) {
  return { ...sketchIntake(id), blobs: [{ digest: hash('sha256', bytes), bytes, mime: 'image/png' }] }
}

test('large bytes are in a file that only the owner can read, and a restarted store finds them', async () => {
  await store.admit(intakeWith('m1', large), 'c')
  expect(statSync(fileOf(digest)).mode & 0o777).toBe(0o600)
  expect(statSync(join(directory, 'postern.db')).size + statSync(join(directory, 'postern.db-wal')).size).toBeLessThan(
    large.length * 3,
  )
  await store.close()
  store = await open()
  const blob = await store.findBlob(digest)
  expect(blob?.mime).toBe('image/png')
  expect(Buffer.from(blob?.bytes ?? []).equals(large)).toBe(true)
})

test('small bytes create no file', async () => {
  const small = randomBytes(100)
  await store.admit(intakeWith('m1', small), 'c')
  expect(existsSync(fileOf(hash('sha256', small)))).toBe(false)
  expect(Buffer.from((await store.findBlob(hash('sha256', small)))?.bytes ?? []).equals(small)).toBe(true)
})

test('findMessage() reads a large raw message from its file', async () => {
  const text = `Subject: long\r\n\r\n${'x'.repeat(fileThreshold)}`
  const raw = { bytes: Buffer.from(text), form: 'text' } as const
  await store.admit({ ...sketchIntake('m1'), raw }, 'c')
  expect(existsSync(fileOf(hash('sha256', raw.bytes)))).toBe(true)
  expect((await store.findMessage('#1'))?.message.raw).toBe(text)
})

test('the store removes a file only with the last message that needs it', async () => {
  const of = (id: string, object: string) => ({ ...intakeWith(id, large), authorship: { author: 'alice', object } })
  await store.admit(of('m1', 'o1'), 'c')
  await store.admit(of('m2', 'o2'), 'c')
  await store.withdraw('a2a', [{ kind: 'forget', author: 'alice', object: 'o1' }])
  expect((await store.findBlob(digest))?.bytes.byteLength).toBe(large.length)
  await store.withdraw('a2a', [{ kind: 'forget', author: 'alice', object: 'o2' }])
  await vi.waitFor(() => expect(existsSync(fileOf(digest))).toBe(false))
  expect(await store.findBlob(digest)).toBeUndefined()
})

test('bytes stay if a new message brings them while the store forgets their last message', async () => {
  const of = (id: string) => ({ ...intakeWith(id, large), authorship: { author: 'alice', object: id } })
  await store.admit(of('m0'), 'c')
  for (let round = 1; round <= 20; round += 1) {
    const forget = { kind: 'forget', author: 'alice', object: `m${round - 1}` } as const
    await Promise.all([store.withdraw('a2a', [forget]), store.admit(of(`m${round}`), 'c')])
    expect((await store.findBlob(digest))?.bytes.byteLength).toBe(large.length)
  }
})

test('a duplicate leaves no file behind', async () => {
  await store.admit(sketchIntake('m1'), 'c')
  expect(await store.admit(intakeWith('m1', large), 'c')).toMatchObject({ outcome: 'duplicate' })
  await vi.waitFor(() => expect(existsSync(fileOf(digest))).toBe(false))
})

test('the next start removes files that a crash left behind', async () => {
  await store.admit(intakeWith('m1', large), 'c')
  await store.close()
  const orphan = 'ab'.repeat(32)
  const folder = join(directory, 'postern.db.blobs', 'ab')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, orphan), 'x')
  writeFileSync(join(folder, `${orphan}.1234.part`), 'x')
  store = await open()
  // The random bytes of the message may have a digest that lies in the same folder.
  await vi.waitFor(() => expect(listFiles()).toEqual([digest]))
})

test('the store stores nothing of a message whose bytes it cannot write', async () => {
  writeFileSync(join(directory, 'postern.db.blobs', digest.slice(0, 2)), 'not a folder')
  await expect(store.admit(intakeWith('m1', large), 'c')).rejects.toThrow(
    'Cannot store: the disk does not take files now',
  )
  expect(await store.listMessages({ limit: 1 })).toEqual([])
})

function listFiles(): readonly string[] {
  return readdirSync(join(directory, 'postern.db.blobs'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)
}

test('a message whose files fill the disk leaves no file, and the store accepts it after space is free', async () => {
  const otherBlobs = [1, 2, 3].map(at => randomBytes(fileThreshold * (at + 1)))
  const intake = {
    ...sketchIntake('m1'),
    blobs: [large, ...otherBlobs].map(bytes => ({ digest: hash('sha256', bytes), bytes, mime: 'image/png' })),
  }
  // Only one of the files fits.
  freeBytes = fileThreshold + 100
  await expect(store.admit(intake, 'c')).rejects.toThrow('Cannot store: the disk does not take files now')
  await vi.waitFor(() => expect(listFiles()).toEqual([]))
  freeBytes = Number.POSITIVE_INFINITY
  expect(await store.admit(intake, 'c')).toMatchObject({ outcome: 'accepted' })
  expect(listFiles()).toHaveLength(4)
})

test('bytes stay if a new message brings them while the store removes their file', async () => {
  const furtherBytes = randomBytes(fileThreshold * 2)
  const blobs = [large, furtherBytes].map(bytes => ({ digest: hash('sha256', bytes), bytes, mime: 'image/png' }))
  freeBytes = fileThreshold + 100
  const { promise, resolve } = Promise.withResolvers<void>()
  removal = promise
  // The store slowly removes the one file that fitted.
  await expect(store.admit({ ...sketchIntake('m1'), blobs }, 'c')).rejects.toThrow('does not take files')
  freeBytes = Number.POSITIVE_INFINITY
  const again = store.admit(intakeWith('m2', large), 'c')
  await new Promise(resolve => setTimeout(resolve, 300))
  resolve()
  expect(await again).toMatchObject({ outcome: 'accepted' })
  await new Promise(resolve => setTimeout(resolve, 300))
  expect(Buffer.from((await store.findBlob(digest))?.bytes ?? []).equals(large)).toBe(true)
})
