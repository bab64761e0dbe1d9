import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'

const ada = { via: 'activitypub', address: '@ada@peer.test', subject: 'https://peer.test/ada' } as const

/** Lists everything that a store keeps of a message after its sender was forgotten. */
async function listRemainingData(): Promise<string> {
  const path = join(makeDirectory(), 'postern.db')
  const store = await openSqliteStore({ channels: sketchedChannels, path, now: Date.now, log: discardLog })
  const sender = { address: ada.address, auth_method: 'none', verified: false } as const
  const message = { sender, received_via: ada.via }
  const authorship = { author: ada.subject, object: 'note' }
  await store.admit(sketchIntake('m1', { message, authorship, thread: { scope: ada.subject } }), 'c')
  await store.forgetPerson({ agent: 'echo', addresses: [ada] })
  await store.close()
  const db = new DatabaseSync(path, { readOnly: true })
  const rows = db.prepare('SELECT digest FROM single_use_keys').all()
  db.close()
  return rows.map(({ digest }) => Buffer.from(digest as Uint8Array).toString('base64')).join()
}

test('the digests of a forgotten message differ between stores', async () => {
  const [one, other] = [await listRemainingData(), await listRemainingData()]
  expect([one.length, other.length]).toEqual([44, 44])
  expect(one).not.toBe(other)
  expect([one, other]).not.toContain(hash('sha256', JSON.stringify(['echo', ada.via, 'key of m1']), 'base64'))
})
