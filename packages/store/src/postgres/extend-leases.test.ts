import { expect, test, vi } from 'vitest'
import { extendLeases } from './extend-leases.ts'

/** Wraps the calls that lease, and records their arguments. */
function open({ behind, settling = 0 }: { behind: number; settling?: number }) {
  const lease = vi.fn(async (_request: { leaseMs: number }) => [])
  const renew = vi.fn(async (_work: unknown, _leaseMs: number) => undefined)
  const setConsumer = vi.fn((_consumer: { hasCapacity(ticket: unknown): boolean }) => undefined)
  const calls = { leaseTurns: lease, leaseDeliveries: lease, leaseBroadcasts: lease, renew }
  const setters = { setTurnConsumer: setConsumer, setDeliveryConsumer: setConsumer }
  const clock = { behindMs: () => behind, settlingMs: () => settling }
  return { lease, renew, setConsumer, sound: extendLeases({ ...calls, ...setters } as never, clock) }
}

const request = { holder: 'one', limit: 1, leaseMs: 60_000 }

test.each([0, 200_000])(
  'leases last their full time on the server while the clock is %d ms behind it',
  async behind => {
    const { lease, renew, sound } = open({ behind })
    await sound.leaseTurns(request)
    await sound.leaseDeliveries({ ...request, rank: 'answer' })
    await sound.leaseBroadcasts(request)
    await sound.renew({} as never, 60_000)
    const cases = [
      ...lease.mock.calls.map(([{ leaseMs }]) => leaseMs),
      ...renew.mock.calls.map(([, leaseMs]) => leaseMs),
    ]
    expect(cases).toEqual(Array(4).fill(60_000 + behind))
  },
)

test.each([
  [3_000, true],
  [3_001, false],
])('a clock that is %d ms behind makes new work carry its lease: %s', (behind, hasCapacity) => {
  const { setConsumer, sound } = open({ behind })
  const consumer = { hasCapacity: () => true } as never
  sound.setTurnConsumer?.(consumer)
  sound.setDeliveryConsumer?.(consumer)
  expect(setConsumer.mock.calls.map(([guarded]) => guarded.hasCapacity({}))).toEqual([hasCapacity, hasCapacity])
})

test('a gateway whose clock has jumped takes over work only after others could renew their leases', async () => {
  const { lease, sound } = open({ behind: 0, settling: 50 })
  const leasing = sound.leaseTurns(request)
  await Promise.resolve()
  expect(lease).not.toHaveBeenCalled()
  await leasing
  expect(lease).toHaveBeenCalledOnce()
})
