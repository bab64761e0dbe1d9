import { setTimeout } from 'node:timers/promises'
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

test('a lease passes over a task that somebody else changes, so that they cannot lock each other out', async () => {
  const { store, ask, findUnsound, close } = await openTwo()
  for (const at of [1, 2, 3]) {
    const task = { owner: 'ada', id: `task ${at}`, context: 'c' }
    await store.admit(sketchIntake(`m${at}`, { task, message: { thread_id: `m${at}` } }), 'c')
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
