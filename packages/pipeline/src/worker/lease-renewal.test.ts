import { LeaseLost, Unavailable } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { delivery, turn } from '../../test/memory-store.ts'
import { createLeaseRenewal } from './lease-renewal.ts'

const leaseMs = 60_000

function openRenewal(renew: () => Promise<void> = async () => undefined) {
  let now = 1_000_000
  const store = { renew: vi.fn(renew) }
  const onLost = vi.fn()
  const runningWork = [turn(1), delivery('d1')]
  const system = { now: () => now, sleep: async () => undefined }
  const leaseRenewal = createLeaseRenewal({ store, system, leaseMs, listRunning: () => runningWork, onLost })
  const advanceClock = (ms: number) => {
    now += ms
  }
  return { keeping: leaseRenewal, store, onLost, running: runningWork, step: advanceClock }
}

test('refresh() renews leases of running work only after the clock has stepped', async () => {
  const { keeping, store, running, step } = openRenewal()
  await keeping.renewIfDue()
  expect(store.renew).not.toHaveBeenCalled()
  step(61_000)
  await Promise.all([keeping.renewIfDue(), keeping.renewIfDue()])
  expect(store.renew.mock.calls).toEqual(running.map(work => [work, leaseMs]))
  step(-3_600_000)
  await keeping.renewIfDue()
  expect(store.renew).toHaveBeenCalledTimes(4)
})

test('renewUntilStopped() renews every five seconds, so that a turn learns of its end elsewhere', async () => {
  const stopController = new AbortController()
  const pauses: number[] = []
  const store = { renew: vi.fn(() => Promise.reject(new LeaseLost('canceled'))) }
  const onLost = vi.fn(() => stopController.abort())
  const sleep = async (ms: number) => void pauses.push(ms)
  const system = { now: () => 0, sleep }
  const work = turn(1)
  await createLeaseRenewal({ store, system, leaseMs, listRunning: () => [work], onLost }).renewUntilStopped(
    stopController.signal,
  )
  expect([pauses, onLost.mock.calls]).toEqual([[5_000], [[work]]])
})

test('refresh() reports work that another worker took over, and reports nothing while the store is unavailable', async () => {
  const lostBench = openRenewal(() => Promise.reject(new LeaseLost('lost')))
  lostBench.step(61_000)
  await lostBench.keeping.renewIfDue()
  expect(lostBench.onLost.mock.calls).toEqual(lostBench.running.map(work => [work]))
  const unavailableBench = openRenewal(() => Promise.reject(new Unavailable('the store is away')))
  unavailableBench.step(61_000)
  await unavailableBench.keeping.renewIfDue()
  expect(unavailableBench.onLost).not.toHaveBeenCalled()
})
