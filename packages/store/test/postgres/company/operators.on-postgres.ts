import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '@postern/message'
import { sketchIntake } from '@postern/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openPostgresTestStore, schemaOf } from '../open-postgres-test-store.ts'
import { testServer } from '../test-server.ts'

// Readings of operators must not delay callers, whatever these readings wait for.

/** Locks a table exclusively, on a connection of its own. @returns the function that releases it */
async function lockTable(schema: string, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client(testServer.url)
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE "${schema}".${table} IN ACCESS EXCLUSIVE MODE`)
  let isRetained = true
  const release = async () => {
    if (isRetained) await client.end()
    isRetained = false
  }
  onTestFinished(release)
  return release
}

const task = { owner: 'ada', id: 'task 1', context: 'c' }

test('callers read their tasks while operators’ queries wait for a lock, up to ten seconds', async () => {
  const { store, url } = await openPostgresTestStore()
  await store.admit(sketchIntake('m1', { task }), 'c')
  const release = await lockTable(schemaOf(url), 'refusals')
  let ended = 0
  const reading = [1, 2, 3, 4].map(() =>
    store.forOperators
      .listRefusals({ limit: 10 })
      .catch((error: unknown) => error)
      .finally(() => (ended += 1)),
  )
  await delay(500)
  for (let call = 0; call < 5; call += 1) expect(await store.findTask(task)).toMatchObject({ id: 'task 1' })
  await store.checkWork()
  expect(ended).toBe(0)
  // The lock is still held, so nothing but the time limit ends these readings.
  for (const end of await Promise.all(reading)) expect(end).toBeInstanceOf(Unavailable)
  await release()
  expect(await store.forOperators.listRefusals({ limit: 10 })).toEqual([])
  await store.close()
})

test('workers read work that an operator’s call made ready while operators’ queries wait', async () => {
  const { store, url } = await openPostgresTestStore()
  await store.admit(sketchIntake('m1', { task }), 'c')
  const release = await lockTable(schemaOf(url), 'refusals')
  const waiting: Promise<unknown>[] = []
  // Queries that come at the same moment share a connection.
  for (const _ of [1, 2]) {
    waiting.push(store.forOperators.listRefusals({ limit: 10 }))
    await delay(200)
  }
  const reading = new Promise(resolve => {
    store.listen('work', () => resolve(store.findTask(task)))
  })
  await store.forOperators.admit(sketchIntake('m2'), 'c')
  expect(await Promise.race([reading, delay(3_000, 'waits for operators')])).toMatchObject({ id: 'task 1' })
  await release()
  await Promise.all(waiting)
  await store.close()
})

test('a store whose tasks are unreadable is unhealthy until they are readable again', async () => {
  const { store, url } = await openPostgresTestStore()
  await store.checkWork()
  const release = await lockTable(schemaOf(url), 'tasks')
  const checking = store.checkWork().then(() => 'fit')
  expect(await Promise.race([checking, delay(3_000, 'waits')])).toBe('waits')
  await release()
  expect(await checking).toBe('fit')
  await store.close()
})
