import { setTimeout } from 'node:timers/promises'
import { noLog } from '@postern/message'
import { sketchDeletion, sketchedChannels, sketchIntake, sketchPost } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import { openPostgresStore } from '../../../src/postgres/index.ts'
import { makeDatabase } from '../open-postgres-test-store.ts'
import { openWorker } from './open-worker.ts'

// The workers of two gateways lease any work that is ready.

test('a deletion reaches its peer after the post that another gateway is still delivering', async () => {
  const url = makeDatabase()
  const arrived: string[] = []
  const begun = Promise.withResolvers<void>()
  const free = Promise.withResolvers<void>()
  async function deliver(_to: string, text: string): Promise<void> {
    if (text.includes('regrets')) {
      begun.resolve()
      await free.promise
    }
    arrived.push(text.includes('regrets') ? 'post' : 'deletion')
  }
  const one = await openWorker(url, { holder: 'one', deliver })
  await one.storeActions([sketchPost('p1', 'regrets', { recipients: ['https://peer.test/inbox'] })], 'c')
  await begun.promise
  const two = await openWorker(url, { holder: 'two', deliver })
  await two.storeActions([sketchDeletion('p1', ['https://peer.test/inbox'])], 'c')
  await setTimeout(1_500)
  expect(arrived).toEqual([])
  free.resolve()
  await vi.waitFor(() => expect(arrived).toEqual(['post', 'deletion']), 10_000)
})

test('a gateway whose clock is 61 seconds ahead takes no work of another one', async () => {
  const url = makeDatabase()
  const free = Promise.withResolvers<void>()
  const begun = { turns: 0, deliveries: 0 }
  async function handle(): Promise<string> {
    begun.turns += 1
    await free.promise
    return 'hi'
  }
  async function deliver(): Promise<void> {
    begun.deliveries += 1
    await free.promise
  }
  const one = await openWorker(url, { holder: 'one', handle, deliver })
  await one.admit(sketchIntake('m1'), 'c')
  await one.storeActions([sketchPost('p1', 'news', { recipients: ['https://peer.test/inbox'] })], 'c')
  await vi.waitFor(() => expect(begun).toEqual({ turns: 1, deliveries: 1 }), 10_000)
  const two = await openWorker(url, { holder: 'two', handle, deliver, aheadMs: 61_000 })
  expect(Math.abs(two.now() - one.now())).toBeLessThan(20_000)
  await setTimeout(3_000)
  expect(begun).toEqual({ turns: 1, deliveries: 1 })
  free.resolve()
  await vi.waitFor(async () => expect((await two.count()).messages.answered).toBe(2), 10_000)
})

test('a turn ends within seconds when another gateway cancels its task, even if the notification is lost', async () => {
  const url = makeDatabase()
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  function handle(_: unknown, { signal }: { readonly signal: AbortSignal }): Promise<never> {
    begun.resolve()
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended.resolve()
        reject(signal.reason)
      })
    })
  }
  const one = await openWorker(url, { holder: 'one', handle, isDeaf: true })
  const task = { owner: 'ada', id: 'task 1' }
  await one.admit(sketchIntake('m1', { task: { ...task, context: 'c' } }), 'c')
  await begun.promise
  const two = await openPostgresStore({ channels: sketchedChannels, url, log: noLog })
  expect(await two.cancelTask(task)).toBe(true)
  expect(await Promise.race([ended.promise.then(() => 'ended'), setTimeout(8_000, 'runs on')])).toBe('ended')
  await two.close()
})
