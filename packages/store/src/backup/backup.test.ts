import { hash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import { discardLog, makeDirectory, openStoreUnderTest } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'
import { backupSqlite } from './create.ts'
import type { BackupManifest } from './manifest.ts'
import { checkBackup, restoreSqlite } from './restore.ts'

const now = () => Date.UTC(2026, 5, 2)

function createBlob(byte: number) {
  const bytes = new Uint8Array(300_000).fill(byte)
  return { digest: hash('sha256', bytes), mime: 'application/octet-stream', bytes }
}

const admit = (store: Awaited<ReturnType<typeof openStoreUnderTest>>['store'], id: string, byte: number) =>
  store.admit(sketchIntake(id, { blobs: [createBlob(byte)] }), 'c')

const openRestored = (path: string) =>
  openSqliteStore({ path, channels: sketchedChannels, now, log: discardLog, exclusive: true })

/** Creates a backup of a store that has two messages with a large file each. */
async function takeBackup() {
  const { store, file } = await openStoreUnderTest()
  await admit(store, 'm1', 1)
  await admit(store, 'm2', 2)
  const directory = makeDirectory()
  const folder = join(directory, 'backup')
  const manifest = await backupSqlite({ path: file, folder, now })
  return { store, file, directory, folder, manifest, path: join(directory, 'data', 'postern.db') }
}

const restoreTo = (path: string, folder: string, isReplacing = false) =>
  restoreSqlite({ folder, path, isReplacing, now })

const blobIn = (folder: string, { digest }: { readonly digest: string }) =>
  join(folder, 'blobs', digest.slice(0, 2), digest)

const listFiles = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(each => each.isFile())

function readCounts(path: string) {
  const db = new DatabaseSync(path, { readOnly: true })
  const count = (what: string) => Number(db.prepare(`SELECT count(*) AS count FROM ${what}`).get()?.count)
  const counts = { messages: count('messages'), named: count('blobs WHERE is_file = 1') }
  db.close()
  return counts
}

function changeManifest(folder: string, change: (manifest: BackupManifest) => object): void {
  const path = join(folder, 'manifest.json')
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as BackupManifest)))
}

describe('a backup', () => {
  test('of a running store has every previously acknowledged message with its files, and no later one', async () => {
    const { store, folder, path, manifest } = await takeBackup()
    await admit(store, 'm3', 3)
    expect(manifest).toMatchObject({ format: 'postern-backup/1', created_at: '2026-06-02T00:00:00.000Z' })
    expect(manifest.files).toHaveLength(3)
    await restoreTo(path, folder)
    const restored = await openRestored(path)
    expect(await restored.findMessage('m1')).toMatchObject({ state: 'received' })
    expect(await restored.findMessage('m3')).toBeUndefined()
    const { digest, bytes } = createBlob(2)
    expect((await restored.findBlob(digest))?.bytes.byteLength).toBe(bytes.byteLength)
    await admit(restored, 'm4', 4)
    await restored.close()
  })

  test('is one consistent copy while the store writes and deletes messages with files', async () => {
    const { store, file } = await openStoreUnderTest()
    const author = 'https://peer.test/ada'
    const write = async (count: number) => {
      const bytes = new Uint8Array(300_000).fill(count % 256)
      bytes.set(Buffer.from(`file ${count}`))
      const blobs = [{ digest: hash('sha256', bytes), mime: 'text/plain', bytes }]
      await store.admit(sketchIntake(`m${count}`, { blobs, authorship: { author, object: `${count}` } }), 'c')
      if (count >= 20) await store.withdraw('a2a', [{ kind: 'forget', author, object: `${count - 20}` }])
    }
    let count = 0
    for (; count < 20; count += 1) await write(count)
    let isOver = false
    const writing = (async () => {
      for (; !isOver; count += 1) await write(count)
    })()
    const directory = makeDirectory()
    for (const name of ['one', 'two', 'three']) {
      const before = count
      const folder = join(directory, name)
      await backupSqlite({ path: file, folder, now })
      const path = join(directory, `data-${name}`, 'postern.db')
      await restoreTo(path, folder)
      const { messages, named } = readCounts(path)
      expect(messages).toBeGreaterThanOrEqual(before)
      expect(named).toBeGreaterThanOrEqual(19)
      expect(listFiles(`${path}.blobs`)).toHaveLength(named)
    }
    isOver = true
    await writing
  })

  test('is readable only for its owner', async () => {
    const { folder } = await takeBackup()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const files = listFiles(folder)
    expect(files.map(each => statSync(join(each.parentPath, each.name)).mode & 0o777)).toEqual(files.map(() => 0o600))
  })

  test('leaves the folder unchanged if it cannot be complete', async () => {
    const { file, directory } = await takeBackup()
    rmSync(join(`${file}.blobs`, createBlob(1).digest.slice(0, 2)), { recursive: true })
    const folder = join(directory, 'second')
    await expect(backupSqlite({ path: file, folder, now })).rejects.toThrow(/is gone, and the database names it/)
    expect(existsSync(folder)).toBe(false)
    expect(existsSync(`${folder}.part`)).toBe(false)
  })

  test('fails for a damaged file', async () => {
    const { file, directory } = await takeBackup()
    const { digest } = createBlob(1)
    appendFileSync(join(`${file}.blobs`, digest.slice(0, 2), digest), 'x')
    await expect(backupSqlite({ path: file, folder: join(directory, 'second'), now })).rejects.toThrow('is damaged')
  })

  test('needs a free and accessible folder, and a database', async () => {
    const { file, directory, folder } = await takeBackup()
    await expect(backupSqlite({ path: file, folder, now })).rejects.toThrow('is not empty')
    mkdirSync(join(directory, 'other.part'))
    await expect(backupSqlite({ path: file, folder: join(directory, 'other'), now })).rejects.toThrow('did not end')
    await expect(backupSqlite({ path: file, folder: join(file, 'x'), now })).rejects.toThrow('cannot be used (ENOTDIR)')
    const nothing = join(directory, 'nothing.db')
    await expect(backupSqlite({ path: nothing, folder: join(directory, 'x'), now })).rejects.toThrow('no database')
    expect(existsSync(nothing)).toBe(false)
  })
})

describe('a restore', () => {
  test('refuses a backup with a changed byte or a missing file, and changes nothing', async () => {
    const { folder, path, directory } = await takeBackup()
    const damages: readonly ((copy: string) => void)[] = [
      copy => {
        const bytes = readFileSync(join(copy, 'postern.db'))
        bytes[5_000] = (bytes[5_000] ?? 0) ^ 1
        writeFileSync(join(copy, 'postern.db'), bytes)
      },
      copy => appendFileSync(join(copy, 'postern.db'), 'x'),
      copy => rmSync(blobIn(copy, createBlob(2))),
      copy => writeFileSync(blobIn(copy, createBlob(2)), randomBytes(300_000)),
      copy =>
        changeManifest(copy, ({ files, ...rest }) => ({
          ...rest,
          files: files.filter(each => each.path === 'postern.db'),
        })),
    ]
    for (const [index, damage] of damages.entries()) {
      const copy = join(directory, `copy-${index}`)
      cpSync(folder, copy, { recursive: true })
      damage(copy)
      await expect(restoreTo(path, copy)).rejects.toMatchObject({ name: 'ConfigError', key: 'backup' })
      expect(readdirSync(join(directory, 'data'))).toEqual(['postern.db.lock'])
    }
    await restoreTo(path, folder)
    expect(existsSync(path)).toBe(true)
  })

  test.each<[what: string, change: (manifest: BackupManifest) => object]>([
    ['another format', manifest => ({ ...manifest, format: 'postern-backup/2' })],
    ['no files', manifest => ({ ...manifest, files: [] })],
    [
      'a path out of its folder',
      ({ files, ...rest }) => ({ ...rest, files: [...files, { ...files[0], path: '../x' }] }),
    ],
    ['a file twice', ({ files, ...rest }) => ({ ...rest, files: [...files, files[0]] })],
    ['a size that is none', ({ files, ...rest }) => ({ ...rest, files: files.map(each => ({ ...each, bytes: '1' })) })],
  ])('refuses a manifest with %s', async (_what, change) => {
    const { folder, path } = await takeBackup()
    changeManifest(folder, change)
    await expect(checkBackup(folder)).rejects.toThrow('is no manifest of a backup')
    await expect(restoreTo(path, folder)).rejects.toThrow('is no manifest of a backup')
  })

  test('refuses a folder without a backup', async () => {
    await expect(checkBackup(makeDirectory())).rejects.toThrow('there is no backup in')
  })

  test('refuses to run beside a gateway, or over a database without permission to replace it', async () => {
    const { store, file, folder } = await takeBackup()
    await expect(restoreTo(file, folder, true)).rejects.toThrow('another gateway is running')
    await admit(store, 'm3', 3)
    await store.close()
    await expect(restoreTo(file, folder)).rejects.toThrow('there is a database already')
    const { replacedFolder: replaced = '' } = await restoreTo(file, folder, true)
    const restored = await openRestored(file)
    expect(await restored.findMessage('m3')).toBeUndefined()
    await restored.close()
    const before = await openRestored(join(replaced, 'postern.db'))
    expect(await before.findMessage('m3')).toBeDefined()
    expect((await before.findBlob(createBlob(3).digest))?.bytes.byteLength).toBe(300_000)
    await before.close()
  })

  test('refuses a database of a newer release', async () => {
    const { folder, path } = await takeBackup()
    const file = join(folder, 'postern.db')
    const db = new DatabaseSync(file)
    db.exec('PRAGMA user_version = 9999')
    db.close()
    const sha256 = hash('sha256', readFileSync(file))
    changeManifest(folder, ({ files, ...rest }) => ({
      ...rest,
      files: files.map(each => (each.path === 'postern.db' ? { ...each, sha256 } : each)),
    }))
    await expect(restoreTo(path, folder)).rejects.toThrow('was written by a newer release')
    expect(existsSync(path)).toBe(false)
  })

  test('can verify a backup without changing anything', async () => {
    const { folder, manifest } = await takeBackup()
    chmodSync(folder, 0o500)
    expect(await checkBackup(folder)).toEqual(manifest)
    chmodSync(folder, 0o700)
    appendFileSync(blobIn(folder, createBlob(1)), 'x')
    await expect(checkBackup(folder)).rejects.toThrow('is not as it was')
  })
})
