import { setTimeout as delay } from 'node:timers/promises'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { createCluster } from '@postern/testing/postgres-cluster'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import { openPostgresStore } from '../../../src/postgres/index.ts'
import { discardLog } from '../../open-test-store.ts'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { askServer } from '../test-server.ts'

// These tests show when the notices of a transaction reach another gateway.

/** The time after which a test fails whose notice never arrives, ms. */
const timeout = 20_000

const request = { holder: 'worker', limit: 50, leaseMs: 30_000 }

const nextNotice = (store: GatewayStore, topic: string) =>
  new Promise<unknown>(resolve => void store.listen(topic, resolve))

/** Lists the server's processes for the connections of a schema. */
const listBackends = (schema: string) =>
  askServer<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE application_name = 'postern ${schema}'`)

/** Admits messages of threads of their own, and leases their turns. */
async function leaseTurns(store: GatewayStore, count: number) {
  const ids = Array.from({ length: count }, (_, index) => `m${index}`)
  await Promise.all(ids.map(id => store.admit(sketchIntake(id, { message: { thread_source: id } }), 'c')))
  const turns = await store.leaseTurns(request)
  expect(turns).toHaveLength(count)
  return turns
}

test('a gateway that receives a notice can already read the change of another gateway', { timeout }, async () => {
  const { store, reopen } = await openPostgresTestStore()
  const other = (await reopen?.()) as GatewayStore
  const turns = await leaseTurns(store, 40)
  const readings = turns.map(async ({ message }) => {
    await nextNotice(other, `message:${message}`)
    return (await other.findMessage(`#${message}`))?.state
  })
  for (const turn of turns) await store.commit(turn, sketchAnswer(turn, 'hello'))
  expect(new Set(await Promise.all(readings))).toEqual(new Set(['answered']))
  await Promise.all([store.close(), other.close()])
})

test('notices of a gateway that has lost its connection for notices arrive when it has reconnected', {
  timeout,
}, async () => {
  const { store, reopen, url } = await openPostgresTestStore()
  const ownBackends = (await listBackends(schemaOf(url))).map(({ pid }) => pid)
  const other = (await reopen?.()) as GatewayStore
  const [turn] = await leaseTurns(store, 1)
  if (!turn) throw new Error('no turn is due')
  const first = nextNotice(other, 'probe')
  store.notify('probe', 1)
  await first
  const settled = nextNotice(other, `message:${turn.message}`)
  const ended = await askServer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND pid IN (${ownBackends})`,
  )
  expect(ended).toHaveLength(1)
  await store.commit(turn, sketchAnswer(turn, 'hello'))
  expect(await settled).toEqual({ kind: 'settled' })
  await Promise.all([store.close(), other.close()])
})

/** Opens two stores at a server on which another transaction holds the lock for notices until `release` is called. */
async function openWithHeldLock() {
  // The other transaction waits for a standby that does not exist, and the gateways do not wait for it.
  const settings = ['synchronous_standby_names=nobody']
  const cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '', settings })
  onTestFinished(cluster.remove)
  await cluster.start()
  const [operator, holder] = [new pg.Client(cluster.url), new pg.Client(cluster.url)]
  for (const client of [operator, holder]) {
    await client.connect()
    client.on('error', () => undefined)
    onTestFinished(() => client.end())
  }
  await operator.query('SET synchronous_commit = local; ALTER ROLE postern SET synchronous_commit = local')
  const open = () => openPostgresStore({ channels: sketchedChannels, url: cluster.url, log: discardLog })
  const [store, other] = [await open(), await open()]
  const statements = 'SET synchronous_commit = on; CREATE TABLE other (id INT); NOTIFY elsewhere'
  const holding = holder.query(statements).catch((error: unknown) => error)
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  const isHeld = async () => (await operator.query(`SELECT 1 ${waiting}`)).rowCount === 1
  await expect.poll(isHeld, { timeout: 10_000 }).toBe(true)
  async function release(): Promise<void> {
    await operator.query(`SELECT pg_terminate_backend(pid) ${waiting}`)
    await holding
  }
  return { store, other, release }
}

test('a store admits messages while another transaction holds the lock of the server for notices', {
  timeout: 3 * timeout,
}, async () => {
  const { store, other, release } = await openWithHeldLock()
  const work = nextNotice(other, 'work')
  for (const id of ['m1', 'm2', 'm3'])
    expect(await store.admit(sketchIntake(id), 'c')).toMatchObject({ outcome: 'accepted' })
  await release()
  expect(await work).toEqual(['turns'])
  await Promise.all([store.close(), other.close()])
})

test('close() sends the notices that still wait', { timeout: 3 * timeout }, async () => {
  const { store, other, release } = await openWithHeldLock()
  const notices = ['work', 'last'].map(topic => nextNotice(other, topic))
  await store.admit(sketchIntake('m1'), 'c')
  store.notify('last', 1)
  const closing = store.close()
  await delay(200)
  await release()
  expect(await Promise.all(notices)).toEqual([['turns'], 1])
  await Promise.all([closing, other.close()])
})
