import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'
import { sliceSize } from './remove-threads.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const chat = { via: 'web', address: '@ada@web.agents.test', subject: 'web:["https://id.test","ada"]' } as const
const mailbox = { via: 'email', address: '@ada@mail.test', subject: 'mailto:ada@mail.test' } as const

test('forgetPerson() completes an earlier interrupted run, for all addresses of the person', async () => {
  let isDown = true
  const bytes = {
    name: 'of the test',
    write: async () => {},
    read: async () => undefined,
    async remove() {
      if (isDown) throw new Error('the bucket is down')
    },
  }
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: Date.now, log, bytes })
  const link = { agent: 'echo', asker: chat, digest: 'd', notice: 'n' }
  await store.requestLink({ ...link, target: mailbox, message: 1_000_001 })
  expect(await store.confirmLink({ ...link, message: 1_000_002 })).toMatchObject({ outcome: 'linked' })
  const said = (id: string, { via, address }: typeof chat | typeof mailbox, scope: string) => {
    const sender = { address, auth_method: 'none', verified: false } as const
    return store.admit(sketchIntake(id, { message: { sender, received_via: via }, thread: { scope } }), 'c')
  }
  await said('m1', chat, chat.subject)
  await said('m2', mailbox, 'v:ada@mail.test')
  await store.objects.putObject({
    bucket: 'b',
    path: 'p',
    owner: chat.subject,
    mime: 'text/plain',
    bytes: new Uint8Array([1]),
  })
  await expect(store.forgetPerson({ agent: 'echo', addresses: [chat] })).rejects.toThrow('the bucket is down')
  expect((await store.findPerson('echo', chat))?.addresses).toHaveLength(2)
  isDown = false
  await said('m3', mailbox, 'v:ada@mail.test')
  expect(await store.forgetPerson({ agent: 'echo', addresses: [chat] })).toMatchObject({
    messages: 1,
    links: 1,
    attachments: 1,
    unreachable: [],
  })
  expect(await store.listMessages({ limit: 10 })).toEqual([])
  expect(await store.findPerson('echo', chat)).toBeUndefined()
  await store.close()
})

test('forgetPerson() removes messages on both sides of a batch boundary', async () => {
  const { store, file } = await openStoreUnderTest()
  const sender = { address: mailbox.address, auth_method: 'none', verified: false } as const
  const say = async (id: string) => {
    const message = { sender, received_via: mailbox.via }
    return (await store.admit(sketchIntake(id, { message, thread: { scope: 'v:ada@mail.test' } }), 'c')).message
  }
  await say('first')
  skipNumbersTo(file, sliceSize)
  expect([await say('last of the slice'), await say('first of the next')]).toEqual([sliceSize, sliceSize + 1])
  expect(await store.forgetPerson({ agent: 'echo', addresses: [mailbox] })).toMatchObject({ messages: 3 })
  expect(await store.listMessages({ limit: 10 })).toEqual([])
  await store.close()
})

/** Skips numbers, as many deleted messages would. The next one is `next`. */
function skipNumbersTo(file: string, next: number): void {
  const db = new DatabaseSync(file)
  db.exec(`INSERT INTO messages (seq, entry_id, thread_id, scope, kind, author, content, at)
    SELECT ${next - 1}, 'left out', thread_id, 'forgotten', 'removed', author, '[]', at FROM messages LIMIT 1`)
  db.close()
}

test('forgetPerson() counts all deleted data, and deletes nothing for an unknown person', async () => {
  const { store } = await openStoreUnderTest()
  const refused = { via: 'email', from: 'mx.test', code: 'forbidden', reason: 'no' } as const
  store.refuse({ ...refused, at: '2026-01-01T00:00:00.000Z', claimed_sender: '@ada@mail.test' })
  await store.listRefusals({ limit: 1 })
  const nothing = { messages: 0, links: 0, relations: 0, attachments: 0, traces: 0, unreachable: [] }
  expect(await store.forgetPerson({ addresses: [{ ...mailbox, address: '@eve@mail.test' }] })).toEqual(nothing)
  expect(await store.forgetPerson({ addresses: [mailbox] })).toEqual({ ...nothing, traces: 1 })
  expect(await store.listRefusals({ limit: 1 })).toEqual([])
  await store.close()
})
