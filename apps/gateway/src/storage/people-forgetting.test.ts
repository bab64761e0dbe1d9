import fs, { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog } from '@postern/message'
import type { PersonAddress } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPeopleForgetting } from './people-forgetting.ts'

const ada = { via: 'activitypub', address: '@ada@peer.test', subject: 'https://peer.test/ada' } as const
const bob = { via: 'email', address: '@bob@mail.test' } as const
const owner = 'web:["https://id.test","cleo"]'

let directory: string
const openStores: GatewayStore[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-forgotten-'))
})
afterEach(async () => {
  for (const store of openStores.splice(0)) await store.close()
  rmSync(directory, { recursive: true })
})

async function admitMessage(store: GatewayStore, id: string, { via, address, subject }: PersonAddress, agent = 'echo') {
  const sender = { address, auth_method: 'none', verified: false } as const
  const authorship = subject === undefined ? {} : { authorship: { author: subject, object: id } }
  await store.admit(sketchIntake(id, { agent, message: { sender, received_via: via }, ...authorship }), 'c')
}

/** Opens a store from before anybody asked to be forgotten, and the forgetting for it. */
async function openEarlierStore() {
  const store = await openSqliteStore({ path: ':memory:', channels: sketchedChannels, now: Date.now, log: noLog })
  openStores.push(store)
  await admitMessage(store, 'm1', ada)
  await admitMessage(store, 'm2', ada, 'help')
  await admitMessage(store, 'm3', bob)
  await store.objects.putObject({ bucket: 'b', path: 'p', owner, mime: 'text/plain', bytes: new Uint8Array([1]) })
  const refused = { via: 'email', from: 'mx.test', code: 'forbidden', reason: 'no' } as const
  store.refuse({ ...refused, at: '2026-01-01T00:00:00.000Z', claimed_sender: 'Eve <eve@mail.test>' })
  await store.listRefusals({ limit: 1 })
  const listIds = async () => (await store.listMessages({ limit: 10 })).map(({ id }) => id).sort()
  return { store, listIds, forgetting: createPeopleForgetting({ store, directory, log: noLog }) }
}

test('a restored store forgets the people of the list again: by principal, address, owner and claim', async () => {
  const now = await openEarlierStore()
  await now.forgetting.forgetPerson({ agent: 'echo', addresses: [ada] })
  await now.forgetting.forgetPerson({ addresses: [{ via: 'email', address: '@eve@mail.test' }] })
  await now.forgetting.forgetOwner(owner, false)
  expect(readFileSync(join(directory, 'forgotten'), 'utf8')).not.toMatch(/ada|eve|cleo/)

  const earlier = await openEarlierStore()
  expect(await earlier.forgetting.applyList()).toBeGreaterThan(2)
  expect(await earlier.listIds()).toEqual(['m2', 'm3'])
  expect(await earlier.store.objects.findObject('b', 'p')).toBeUndefined()
  expect(await earlier.store.listRefusals({ limit: 1 })).toEqual([])
  await admitMessage(earlier.store, 'm4', ada)
  expect(await earlier.forgetting.applyList()).toBe(0)
  expect(await earlier.listIds()).toEqual(['m2', 'm3', 'm4'])
})

test('a restored ban stays in force, without the person’s name, after the person said "forget me"', async () => {
  const now = await openEarlierStore()
  await now.forgetting.forgetPerson({ agent: 'echo', addresses: [bob], isOwn: true })
  const earlier = await openEarlierStore()
  const ban = { kind: 'swarm-ban', owner: 'agent:echo', key: JSON.stringify(['swarm', 'rude', 'bob']) }
  await earlier.store.records.insert(ban, true, { person: `${bob.via} ${bob.address}` })
  expect(await earlier.forgetting.applyList()).toBe(1)
  expect(await earlier.listIds()).toEqual(['m1', 'm2'])
  expect(await earlier.store.records.get(ban)).toBeDefined()
  expect(JSON.stringify(await earlier.store.records.list('swarm-ban', 'agent:echo'))).not.toContain('bob')
})

test('a start completes an erasure that a crash interrupted, and reads a list whose last line is incomplete', async () => {
  const { store, listIds } = await openEarlierStore()
  const crashingStore = { ...store, forgetPerson: () => Promise.reject(new Error('the process ends')) }
  const interruptedForgetting = createPeopleForgetting({ store: crashingStore, directory, log: noLog })
  await expect(interruptedForgetting.forgetPerson({ addresses: [bob] })).rejects.toThrow('the process ends')
  appendFileSync(join(directory, 'forgotten'), '\n{"digests":["half')
  const secondForgetting = createPeopleForgetting({ store, directory, log: noLog })
  expect(await secondForgetting.applyList()).toBe(1)
  expect(await listIds()).toEqual(['m1', 'm2'])
  await secondForgetting.forgetPerson({ addresses: [ada] })
  expect(await createPeopleForgetting({ store, directory, log: noLog }).applyList()).toBe(0)
})

const failOnce = () => Promise.reject(new Error('the store is busy'))

/** Returns the forgetting for a store with some functions replaced. */
const openForgetting = (store: GatewayStore, overrides: object) =>
  createPeopleForgetting({ store: { ...store, ...overrides }, directory, log: noLog })

test.each([
  ['the same request', { agent: 'echo', addresses: [bob], isOwn: true }],
  ['the operator for all agents', { addresses: [ada, bob] }],
])('messages sent after an erasure that succeeded at its second try remain: %s', async (_, secondRequest) => {
  const { store, listIds, forgetting } = await openEarlierStore()
  const failedForgetting = openForgetting(store, { forgetPerson: failOnce })
  await expect(failedForgetting.forgetPerson({ agent: 'echo', addresses: [bob], isOwn: true })).rejects.toThrow('busy')
  await forgetting.forgetPerson(secondRequest)
  await admitMessage(store, 'm4', bob)
  expect(await openForgetting(store, {}).applyList()).toBe(0)
  expect(await listIds()).toContain('m4')
})

test('an erasure that covers less than a failed one leaves the remainder to the next start', async () => {
  const { store, listIds, forgetting } = await openEarlierStore()
  await expect(
    openForgetting(store, { forgetPerson: failOnce }).forgetPerson({ addresses: [ada, bob] }),
  ).rejects.toThrow()
  await forgetting.forgetPerson({ agent: 'echo', addresses: [ada, bob] })
  expect(await listIds()).toEqual(['m2'])
  await openForgetting(store, {}).applyList()
  expect(await listIds()).toEqual([])
})

test('an erasure succeeds if the list cannot record it, and the list records it later', async () => {
  const { store, listIds } = await openEarlierStore()
  const insert = vi.fn(store.records.insert).mockImplementationOnce(failOnce)
  const forgetting = openForgetting(store, { records: { ...store.records, insert } })
  const timers = vi.spyOn(globalThis, 'setTimeout')
  expect(await forgetting.forgetPerson({ addresses: [bob] })).toMatchObject({ messages: 1 })
  const timerIndex = timers.mock.calls.findIndex(([, ms]) => ms === 10_000)
  const [callback, timer] = [timers.mock.calls[timerIndex]?.[0], timers.mock.results[timerIndex]?.value]
  timers.mockRestore()
  clearTimeout(timer)
  callback?.()
  await vi.waitFor(() => expect(insert).toHaveBeenCalledTimes(2))
  await Promise.all(insert.mock.results.map(({ value }) => value.catch(() => undefined)))
  await admitMessage(store, 'm4', bob)
  expect(await openForgetting(store, {}).applyList()).toBe(0)
  expect(await listIds()).toContain('m4')
})

test('a line that is on disk despite a failed flush deletes nothing from after its erasure', async () => {
  const { store, listIds, forgetting } = await openEarlierStore()
  const flush = vi.spyOn(fs, 'fsyncSync').mockImplementationOnce(() => {
    throw new Error('the disk fails')
  })
  await forgetting.forgetPerson({ addresses: [bob] })
  expect(flush).toHaveBeenCalledOnce()
  flush.mockRestore()
  await admitMessage(store, 'm4', bob)
  expect(await openForgetting(store, {}).applyList()).toBe(0)
  expect(await listIds()).toContain('m4')
  const earlier = await openEarlierStore()
  expect(await earlier.forgetting.applyList()).toBe(1)
})

test('a start warns about lines of the list that it cannot read', async () => {
  const { store, forgetting } = await openEarlierStore()
  await forgetting.forgetPerson({ addresses: [bob] })
  appendFileSync(join(directory, 'forgotten'), '\n{"digests":["half')
  const warn = vi.fn()
  await createPeopleForgetting({ store, directory, log: { ...noLog, warn } }).applyList()
  expect(warn).toHaveBeenCalledExactlyOnceWith({ lines: 1 }, expect.stringContaining('cannot be read'))
})

test('a start forgets a person once, however often the list names them', async () => {
  const { forgetting } = await openEarlierStore()
  for (let times = 0; times < 3; times += 1) await forgetting.forgetPerson({ addresses: [bob] })
  const { store } = await openEarlierStore()
  const forgetPerson = vi.fn(store.forgetPerson)
  expect(await openForgetting(store, { forgetPerson }).applyList()).toBe(1)
  expect(forgetPerson).toHaveBeenCalledOnce()
})

test('an erasure succeeds without the folder of the list', async () => {
  const { store, listIds } = await openEarlierStore()
  const withoutFolder = createPeopleForgetting({ store, directory: join(directory, 'gone'), log: noLog })
  expect(await withoutFolder.forgetPerson({ addresses: [bob] })).toMatchObject({ messages: 1 })
  expect(await listIds()).toEqual(['m1', 'm2'])
})
