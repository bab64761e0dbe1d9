import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Delivery, DeliveryTicket } from '@postern/pipeline'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog } from '../../../test/open-test-store.ts'
import { createTestConsumer } from '../../../test/test-consumer.ts'
import type { GatewayStore } from '../../index.ts'
import { openSqliteStore } from '../../index.ts'

const inbox = (at: number) => `https://peer${at}.test/inbox`
const pollOf = (holder: string) => ({ holder, limit: 10, leaseMs: 60_000, rank: 'answer' as const })

function openStore(path = ':memory:') {
  const now = () => Date.UTC(2026, 0, 1)
  return openSqliteStore({ channels: sketchedChannels, path, exclusive: true, now, log: discardLog })
}

/** Opens a store and a worker with this number of slots for deliveries. */
async function openWorker({ slots = 10, path = ':memory:' } = {}) {
  const store = await openStore(path)
  const { consumer, begun, held } = createTestConsumer<Delivery, DeliveryTicket>(slots)
  store.setDeliveryConsumer?.(consumer)
  return { store, begun, held, consumer }
}

async function answer(store: GatewayStore, id: string, { to = [inbox(1)], thread = 't' } = {}): Promise<void> {
  await store.admit(sketchIntake(id, { message: { thread_source: thread } }), 'c')
  const [turn] = await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('no turn is due')
  await store.commit(turn, sketchAnswer(turn, `answer to ${id}`, to))
}

const sent = { state: 'sent' as const }

test('the delivery of an answer starts with its lease, and no poll finds it', async () => {
  const { store, begun, held } = await openWorker()
  await answer(store, 'm1', { to: [inbox(1), inbox(2)] })
  expect(begun.map(({ to, token, attempt }) => [to, token, attempt])).toEqual([
    [inbox(1), 1, 1],
    [inbox(2), 1, 1],
  ])
  expect([...held]).toEqual(begun)
  expect(await store.leaseDeliveries(pollOf('another'))).toEqual([])
  for (const delivery of begun) await store.settle(delivery, sent)
  expect((await store.count()).deliveries).toMatchObject({ queued: 0, sent: 2 })
  await store.close()
})

test('a delivery that starts with its lease has the same content as by a poll', async () => {
  const { store, begun } = await openWorker()
  await answer(store, 'm1')
  const plain = await openStore()
  await answer(plain, 'm1')
  const [leased] = await plain.leaseDeliveries(pollOf('worker'))
  const [own] = begun
  // Each database draws an id for the thread.
  const { id, thread_id } = leased?.response ?? {}
  const words = { response: { ...own?.response, id, thread_id }, message: { ...own?.message, thread_id } }
  expect({ ...own, ...words }).toStrictEqual({ ...leased, message: { ...leased?.message } })
  expect(own?.message.raw).toEqual(leased?.message.raw)
  await Promise.all([store.close(), plain.close()])
})

test('a delivery starts only after an earlier open one to its destination has ended', async () => {
  const { store, begun, held, consumer } = await openWorker()
  await answer(store, 'm1')
  await answer(store, 'm2')
  expect(begun.map(({ message }) => message.id)).toEqual(['m1'])
  expect(held.size).toBe(1)
  for (const delivery of begun) await store.settle(delivery, sent)
  const next = await store.leaseDeliveries({ ...pollOf('worker'), consumer })
  expect(next.map(({ message, token }) => [message.id, token])).toEqual([['m2', 1]])
  await store.close()
})

test.each([
  { name: 'to many destinations', slots: 20, to: Array.from({ length: 9 }, (_, at) => inbox(at)) },
  { name: 'without a free slot', slots: 0, to: [inbox(1)] },
])('an answer $name waits for a poll', async ({ slots, to }) => {
  const { store, begun, held } = await openWorker({ slots })
  await answer(store, 'm1', { to })
  expect([begun.length, held.size]).toEqual([0, 0])
  expect(await store.leaseDeliveries(pollOf('another'))).toHaveLength(to.length)
  await store.close()
})

test('after a crash the next process takes up a delivery that started with its lease, and counts the attempt', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'postern-offer-')), 'postern.db')
  const { store, begun } = await openWorker({ path })
  await answer(store, 'm1')
  expect(begun).toHaveLength(1)
  await store.close()
  const next = await openStore(path)
  const [delivery] = await next.leaseDeliveries(pollOf('next'))
  expect([delivery?.token, delivery?.attempt, delivery?.message.id]).toEqual([2, 2, 'm1'])
  for (const outlived of begun) await expect(next.settle(outlived, sent)).rejects.toThrow('lease')
  await next.close()
})

test('a delivery has the stored message, whatever its agent does with it', async () => {
  const { store, begun } = await openWorker()
  await store.admit(sketchIntake('m1'), 'c')
  const [turn] = await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('no turn is due')
  const stored = structuredClone({ ...turn.content })
  Object.assign(turn.content.parts[0] ?? {}, { content: 'changed' })
  Object.assign(turn.content.sender, { display_name: 'Eve' })
  await store.commit(turn, sketchAnswer(turn, 'yes', [inbox(1)]))
  expect(begun.map(({ message }) => ({ ...message }))).toEqual([stored])
  await store.close()
})
