import { LeaseLost, Unavailable } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { delivery, turn } from '../../test/memory-store.ts'
import { createLeaseRenewal } from './lease-renewal.ts'

const leaseMs = 60_000

function openKeeping(renew: () => Promise<void> = async () => undefined) {
  let now = 1_000_000
  const store = { renew: vi.fn(renew) }
  const onLost = vi.fn()
  const running = [turn(1), delivery('d1')]
  const system = { now: () => now, sleep: async () => undefined }
  const keeping = createLeaseRenewal({ store, system, leaseMs, listRunning: () => running, onLost })
  const step = (ms: number) => {
    now += ms
  }
  return { keeping, store, onLost, running, step }
}

test('refresh() renews leases of running work only after the clock has stepped', async () => {
  const { keeping, store, running, step } = openKeeping()
  await keeping.refresh()
  expect(store.renew).not.toHaveBeenCalled()
  step(61_000)
  await Promise.all([keeping.refresh(), keeping.refresh()])
  expect(store.renew.mock.calls).toEqual(running.map(work => [work, leaseMs]))
  step(-3_600_000)
  await keeping.refresh()
  expect(store.renew).toHaveBeenCalledTimes(4)
})

test('keep() renews every five seconds, so that a turn learns of its end elsewhere', async () => {
  const stop = new AbortController()
  const pauses: number[] = []
  const store = { renew: vi.fn(() => Promise.reject(new LeaseLost('canceled'))) }
  const onLost = vi.fn(() => stop.abort())
  const sleep = async (ms: number) => void pauses.push(ms)
  const system = { now: () => 0, sleep }
  const work = turn(1)
  await createLeaseRenewal({ store, system, leaseMs, listRunning: () => [work], onLost }).renewUntilStopped(stop.signal)
  expect([pauses, onLost.mock.calls]).toEqual([[5_000], [[work]]])
})

test('refresh() returns the work that another worker took over, and nothing while the store is unavailable', async () => {
  const lost = openKeeping(() => Promise.reject(new LeaseLost('lost')))
  lost.step(61_000)
  await lost.keeping.refresh()
  expect(lost.onLost.mock.calls).toEqual(lost.running.map(work => [work]))
  const away = openKeeping(() => Promise.reject(new Unavailable('the store is away')))
  away.step(61_000)
  await away.keeping.refresh()
  expect(away.onLost).not.toHaveBeenCalled()
})
