import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { sketchedChannels } from '@postern/testing'
import { expect, onTestFinished, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'

/** A store that keeps the bytes of objects elsewhere. */
async function openWithBytesElsewhere() {
  const kept = new Map<string, Uint8Array>()
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(makeDirectory(), 'postern.db'),
    now: () => 0,
    log: discardLog,
    bytes: {
      write: async (key, bytes) => void kept.set(key, bytes),
      read: async key => kept.get(key),
      remove: async key => void kept.delete(key),
    },
  })
  onTestFinished(() => store.close())
  return { objects: store.objects, kept }
}

test('nobody but its owner removes an object, nor its bytes where they lie elsewhere', async () => {
  const { objects, kept } = await openWithBytesElsewhere()
  const place = { bucket: 'files', path: 'ann/letter.txt' }
  await objects.putObject({ ...place, owner: 'ann', mime: 'text/plain', bytes: Buffer.from('Dear Bob') })
  expect(await objects.removeObject('bob', place)).toBe(false)
  expect(Buffer.from((await objects.readObject(place)) ?? []).toString()).toBe('Dear Bob')
  expect(await objects.removeObject('ann', place)).toBe(true)
  expect(await objects.readObject(place)).toBeUndefined()
  expect(kept.size).toBe(0)
})
