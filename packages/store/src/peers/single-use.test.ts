import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../../test/open-test-store.ts'

function countKeys(file: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true })
  const row = db.prepare('SELECT count(*) AS keys FROM single_use_keys').get()
  db.close()
  return row?.keys
}

test('consumeOnce() refuses a used key until it expires, and then accepts it again', async () => {
  const { store, now, advance } = await openStoreUnderTest()
  const expiresAt = now() + 1_000
  expect(await store.consumeOnce('key', expiresAt)).toBe(true)
  advance(1_000)
  expect(await store.consumeOnce('key', expiresAt + 1_000)).toBe(false)
  advance(1)
  expect(await store.consumeOnce('key', expiresAt + 1_000)).toBe(true)
  await store.close()
})

test('each new key removes two expired ones, and no valid one', async () => {
  const { store, file, now, advance } = await openStoreUnderTest()
  const take = async (name: string, count: number, expiresAt: number) => {
    for (let at = 0; at < count; at += 1) await store.consumeOnce(`${name} ${at}`, expiresAt)
  }
  await take('old', 20, now() + 1_000)
  advance(1_000)
  await take('same moment', 3, now() + 60_000)
  expect(countKeys(file)).toBe(23)
  advance(1)
  await take('new', 5, now() + 60_000)
  expect(countKeys(file)).toBe(18)
  await take('newer', 20, now() + 60_000)
  expect(countKeys(file)).toBe(28)
  await store.close()
})
