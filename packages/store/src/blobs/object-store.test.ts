import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import type { ByteStore } from '@postern/message'
import { sketchedChannels } from '@postern/testing'
import { expect, onTestFinished, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'

/** Opens a store with a storage for the bytes of objects. */
async function openWithBytesElsewhere() {
  const kept = new Map<string, Uint8Array>()
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(makeDirectory(), 'postern.db'),
    now: () => 0,
    log: discardLog,
    bytes: {
      name: 'of the test',
      write: async (key, bytes) => void kept.set(key, bytes),
      read: async key => kept.get(key),
      remove: async key => void kept.delete(key),
    },
  })
  onTestFinished(() => store.close())
  return { objects: store.objects, kept }
}

test('only its owner can remove an object and its bytes in another storage', async () => {
  const { objects, kept } = await openWithBytesElsewhere()
  const location = { bucket: 'files', path: 'ann/letter.txt' }
  await objects.putObject({ ...location, owner: 'ann', mime: 'text/plain', bytes: Buffer.from('Dear Bob') })
  expect(await objects.removeObject('bob', location)).toBe(false)
  expect(Buffer.from((await objects.readObject(location)) ?? []).toString()).toBe('Dear Bob')
  expect(await objects.removeObject('ann', location)).toBe(true)
  expect(await objects.readObject(location)).toBeUndefined()
  expect(kept.size).toBe(0)
})

/** Creates a storage outside the database. */
function openStorage(name: string, kept = new Map<string, Uint8Array>()) {
  const bytes: ByteStore = {
    name,
    write: async (key, value) => void kept.set(key, value),
    read: async key => kept.get(key),
    remove: async key => void kept.delete(key),
  }
  return { kept, bytes }
}

const letter = { bucket: 'files', path: 'ann/letter.txt' }
const unreachable = { owner: 'ann', ...letter, storage: 's3 old' }

/** Stores a file of Ann in the former storage, and opens the store with the present one. */
async function moveStorage(today: ByteStore | undefined) {
  const path = join(makeDirectory(), 'postern.db')
  const before = openStorage('s3 old')
  const open = async (bytes: ByteStore | undefined) => {
    const options = { channels: sketchedChannels, path, now: () => 0, log: discardLog }
    return openSqliteStore({ ...options, ...(bytes && { bytes }) })
  }
  const first = await open(before.bytes)
  await first.objects.putObject({ ...letter, owner: 'ann', mime: 'text/plain', bytes: Buffer.from('Dear Bob') })
  await first.close()
  const store = await open(today)
  onTestFinished(() => store.close())
  return { objects: store.objects, kept: before.kept }
}

test.each([
  ['the database', undefined],
  ['another bucket', openStorage('s3 new').bytes],
])(
  'an old file stays on record while files go to %s, until somebody forgets its owner without its bytes',
  async (_, today) => {
    const { objects, kept } = await moveStorage(today)
    expect(await objects.removeObjects('ann')).toEqual({ removed: 0, unreachable: [unreachable] })
    await expect(objects.removeObject('ann', letter)).rejects.toThrow(
      'a storage that the gateway does not use any more',
    )
    expect(await objects.findObject(letter.bucket, letter.path)).toMatchObject({ owner: 'ann' })
    expect(kept.size).toBe(1)
    expect(await objects.removeObjects('ann', { leavesBytes: true })).toEqual({ removed: 1, unreachable: [] })
    expect(await objects.findObject(letter.bucket, letter.path)).toBeUndefined()
  },
)

test('a storage under another name releases its files', async () => {
  const kept = new Map([['files/ann/letter.txt', Buffer.from('Dear Bob')]])
  const { objects } = await moveStorage(openStorage('s3 renamed', kept).bytes)
  expect(await objects.removeObjects('ann')).toEqual({ removed: 1, unreachable: [] })
  expect(kept.size).toBe(0)
})

test('the store removes a record whose bytes an interrupted run has already removed', async () => {
  const today = openStorage('s3 old')
  const { objects } = await moveStorage(today.bytes)
  expect(today.kept.size).toBe(0)
  expect(await objects.removeObjects('ann')).toEqual({ removed: 1, unreachable: [] })
})

test('removeObjects() removes more files than it reads at once, and skips unreachable ones', async () => {
  const { objects } = await moveStorage(undefined)
  const put = (at: number) =>
    objects.putObject({ bucket: 'files', path: `ann/${at}`, owner: 'ann', mime: 'text/plain', bytes: Buffer.from('x') })
  for (let at = 0; at < 250; at += 1) await put(at)
  expect(await objects.removeObjects('ann')).toEqual({ removed: 250, unreachable: [unreachable] })
})

test('the store keeps one of two simultaneous objects with one name, and refuses the other', async () => {
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(makeDirectory(), 'postern.db'),
    now: () => 0,
    log: discardLog,
  })
  onTestFinished(() => store.close())
  const location = { bucket: 'files', path: 'shared/letter.txt' }
  const put = (owner: string) =>
    store.objects.putObject({ ...location, owner, mime: 'text/plain', bytes: Buffer.from(`Dear ${owner}`) })
  const [ann, bob] = await Promise.allSettled([put('ann'), put('bob')])
  expect(ann).toMatchObject({ status: 'fulfilled', value: { owner: 'ann' } })
  expect(bob).toMatchObject({
    status: 'rejected',
    reason: { message: 'Cannot store object: there is one of this name' },
  })
  expect(await store.objects.findObject(location.bucket, location.path)).toMatchObject({ owner: 'ann' })
  expect(Buffer.from((await store.objects.readObject(location)) ?? []).toString()).toBe('Dear ann')
})
