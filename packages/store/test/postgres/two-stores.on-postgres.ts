import type { PersonAddress } from '@postern/core'
import { sketchIntake } from '@postern/testing'
import type { QueryResultRow } from 'pg'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { createFindUnsound } from './find-unsound.ts'
import { openPostgresTestStore, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

// What goes wrong only where two gateways write to one database at a time.

async function openTwo() {
  const { store, reopen, url } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  const ask = <Row extends QueryResultRow>(sql: string) => askServer<Row>(sql, schemaOf(url))
  const findUnsound = createFindUnsound(schemaOf(url))
  return { store, other, ask, findUnsound, close: () => Promise.all([store.close(), other.close()]) }
}

test('nothing names an owner any more whose records one gateway wrote and another one removed', async () => {
  const { store, other, ask, findUnsound, close } = await openTwo()
  const place = { kind: 'swarm-shared-state', owner: 'web:ada', key: 'k' }
  await store.records.put(place, 'x')
  await other.records.remove(place)
  expect(await findUnsound()).toEqual([])
  await store.records.removeOwner('web:ada')
  expect(await ask('SELECT owner FROM kept_data')).toEqual([])
  await close()
})

test('a person who links one more address while the gateway forgets them leaves no address without a link', async () => {
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
  for (const id of ['m1', 'm2', 'm3']) await store.admit(sketchIntake(id, { message: { thread_id: id } }), 'c')
  await link(store, nameAddress('bob'), 100)
  const forgetting = store.forgetPerson({ agent: 'help', addresses: [ada] } as never)
  await Promise.all([forgetting, link(other, nameAddress('eve'), 200)])
  expect(await findUnsound()).toEqual([])
  await close()
})

test('a lease of many tasks and messages that continue them in another order do not lock each other out', async () => {
  const { store, other, ask, findUnsound, close } = await openTwo()
  const countDeadlocks = async () => {
    const sql = 'SELECT pg_stat_clear_snapshot(), deadlocks FROM pg_stat_database WHERE datname = current_database()'
    return Number((await ask<{ deadlocks: string }>(sql))[0]?.deadlocks)
  }
  const count = 30
  const write = (at: number, part: number) =>
    sketchIntake(`${at} ${part}`, {
      task: { owner: 'ada', id: `task ${at}`, context: `c${at}` },
      message: { thread_id: `${at} ${part}` },
    })
  const numbers = Array.from({ length: count }, (_, at) => at)
  await Promise.all(numbers.map(at => store.admit(write(at, 0), 'c')))
  const before = await countDeadlocks()
  const request = { holder: 'w', limit: count, leaseMs: 30_000 }
  const [turns] = await Promise.all([
    store.leaseTurns(request),
    ...numbers.map(at => other.admit(write(count - 1 - at, 1), 'c')),
  ])
  expect(turns.length).toBeGreaterThan(0)
  expect(await findUnsound()).toEqual([])
  expect((await countDeadlocks()) - before).toBe(0)
  await close()
})
