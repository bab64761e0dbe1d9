import { KeyNotMade, Unavailable } from '@postern/message'
import { sketchedChannels } from '@postern/testing'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const open = (url: string, overrides: object = {}) =>
  openPostgresStore({ channels: sketchedChannels, url, now: Date.now, log: discardLog, ...overrides })

test.each([{ readsOnly: true }, { mayMigrate: false }])('a store with %j creates no tables', async terms => {
  const url = makeDatabase()
  await expect(open(url, terms)).rejects.toThrow('has no tables of a gateway')
  expect(
    await askServer(`SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = '${schemaOf(url)}'`),
  ).toEqual([{ tables: 0 }])
})

test('a store with readsOnly can read, and refuses to write', async () => {
  const url = makeDatabase()
  const recordKey = { kind: 'note', owner: 'ann', key: 'one' }
  const written = await open(url)
  await written.records.put(recordKey, { text: 'hello' })
  const ring = await written.openSecret('people')
  await written.close()
  const read = await open(url, { readsOnly: true })
  expect((await read.records.get(recordKey))?.value).toEqual({ text: 'hello' })
  expect((await read.openSecret('people')).list()).toEqual(ring.list())
  await expect(read.records.put(recordKey, { text: 'other' })).rejects.toBeInstanceOf(Unavailable)
  await expect(read.readOrCreateSecret('a-key', async () => 'new')).rejects.toBeInstanceOf(KeyNotMade)
  expect(await askServer(`SELECT count(*)::int AS held FROM "${schemaOf(url)}".gateways`)).toEqual([{ held: 0 }])
  await read.close()
  const again = await open(url)
  expect((await again.records.get(recordKey))?.value).toEqual({ text: 'hello' })
  await again.close()
})
