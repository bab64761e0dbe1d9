import { setTimeout } from 'node:timers/promises'
import type { PersonAddress } from '@postern/pipeline'
import { sketchIntake } from '@postern/testing'
import type { QueryResultRow } from 'pg'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import { createFindUnsound } from '../find-unsound.ts'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

// These tests show faults that occur only if two gateways write to one database at the same time.

async function openTwo() {
  const { store, reopen, url } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  const ask = <Row extends QueryResultRow>(sql: string) => askServer<Row>(sql, schemaOf(url))
  const findUnsound = createFindUnsound(schemaOf(url))
  return { store, other, ask, findUnsound, close: () => Promise.all([store.close(), other.close()]) }
}

test('records that one gateway wrote and another removed leave no trace of their owner', async () => {
  const { store, other, ask, findUnsound, close } = await openTwo()
  const recordKey = { kind: 'swarm-shared-state', owner: 'web:ada', key: 'k' }
  await store.records.put(recordKey, 'x')
  await other.records.remove(recordKey)
  expect(await findUnsound()).toEqual([])
  await store.records.removeOwner('web:ada')
  expect(await ask('SELECT owner FROM kept_data')).toEqual([])
  await close()
})

test('a person who links an address while the gateway forgets them leaves no address without a link', async () => {
  const { store, other, findUnsound, close } = await openTwo()
  const nameAddress = (name: string): PersonAddress => ({
    via: 'email',
    address: `@${name}@mail.test`,
    subject: `mailto:${name}@mail.test`,
  })
  const ada = nameAddress('ada')
  async function link(at: GatewayStore, target: PersonAddress, message: number): Promise<void> {
    const [agent, digest] = ['help', `digest ${message}`]
    await at.requestLink({ agent, asker: ada, target, message, digest, notice: `n${message}` } as never)
    await at.confirmLink({ agent, asker: ada, digest, message: message + 1, notice: `k${message}` } as never)
  }
  for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, { message: { thread_source: id } }), 'c')
  await link(store, nameAddress('bob'), 100)
  const forgetting = store.forgetPerson({ agent: 'help', addresses: [ada] } as never)
  await Promise.all([forgetting, link(other, nameAddress('eve'), 200)])
  expect(await findUnsound()).toEqual([])
  await close()
})

test('a lease skips a task that another gateway is changing, so that they cannot deadlock', async () => {
  const { store, ask, findUnsound, close } = await openTwo()
  for (const at of [1, 2, 3]) {
    const task = { owner: 'ada', id: `task ${at}`, context: 'c' }
    await store.admit(sketchIntake(`m${at}`, { task, message: { thread_source: `m${at}` } }), 'c')
  }
  await ask('BEGIN')
  await ask("SELECT 1 FROM tasks WHERE native_id = 'task 2' FOR UPDATE")
  const leasing = store.leaseTurns({ holder: 'w', limit: 10, leaseMs: 30_000 })
  const turns = await Promise.race([leasing, setTimeout(10_000, [])])
  await ask('COMMIT')
  await leasing
  expect(turns.length).toBe(3)
  expect(await findUnsound()).toEqual([])
  await close()
})

test('two gateways together store exactly what a sender may have', async () => {
  const { store, other, findUnsound, close } = await openTwo()
  const raw = { bytes: new TextEncoder().encode(JSON.stringify('x'.repeat(10_000))), form: 'json' } as const
  const storage = { sender: 'ada', isProven: true, maxBytes: 75_000 }
  const ids = Array.from({ length: 40 }, (_, at) => `m${at + 10}`)
  const admitting = ids.map((id, at) => (at % 2 ? store : other).admit(sketchIntake(id, { raw, storage }), 'c'))
  const ends = await Promise.allSettled(admitting)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
  expect(await findUnsound()).toEqual([])
  await close()
})

test('a gateway refuses to start beside one with another origin, other agents or other trusted issuers', async () => {
  const { store, other, close } = await openTwo()
  const setup = {
    mode: 'production',
    origin: 'https://one.test',
    agents: ['desk'],
    issuers: ['https://id.test'],
  } as const
  expect(await store.beginGatewayRun('one', setup)).toBeUndefined()
  expect(await other.beginGatewayRun('two', setup)).toBeUndefined()
  await other.noteGatewayRun('two', 'ends')
  const otherHost = { agents: ['desk', 'help'], issuers: ['https://evil.test'], origin: 'https://two.test' }
  for (const [fact, value] of Object.entries(otherHost)) {
    const difference = await other.beginGatewayRun('three', { ...setup, [fact]: value }, { adopts: true })
    expect(difference).toMatchObject({ fact, isRunning: true })
  }
  await store.noteGatewayRun('one', 'ends')
  expect(await other.beginGatewayRun('three', { ...setup, ...otherHost }, { adopts: true })).toBeUndefined()
  await close()
})
