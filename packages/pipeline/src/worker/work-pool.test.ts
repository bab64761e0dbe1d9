import { setImmediate as nextRound } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { createGate } from '../../test/memory-store.ts'
import { rememberGroups } from './concurrency.ts'
import type { WorkPoolOptions } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

type Semaphores = Map<number, ReturnType<typeof createGate>>

/** Opens a pool over `work`, in which every piece runs until its gate opens. */
function openLane(work: number[], options: Partial<WorkPoolOptions<number>> = {}) {
  const semaphores: Semaphores = new Map(work.map(piece => [piece, createGate()]))
  const begun: number[] = []
  const lease = vi.fn(async (limit: number) => work.splice(0, limit))
  const lane = createWorkPool<number>({
    slots: 2,
    groupOf: () => undefined,
    lease,
    async run(piece) {
      begun.push(piece)
      await semaphores.get(piece)?.opened
    },
    isClosed: () => false,
    onError() {},
    ...options,
  })
  return { lane, begun, lease, finish: (piece: number) => semaphores.get(piece)?.open() }
}

const leasedNothing = { leased: 0, readyCount: 0, heldByOthers: new Map() }

async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await nextRound()
}

describe('createWorkPool()', () => {
  test('runs at most one job in each slot, and fills a slot as soon as it is free', async () => {
    const { lane, begun, finish } = openLane([1, 2, 3])
    lane.wake()
    await settle()
    expect(begun).toEqual([1, 2])
    expect([...lane.running.keys()]).toEqual([1, 2])
    finish(2)
    await settle()
    expect(begun).toEqual([1, 2, 3])
    expect([...lane.running.keys()]).toEqual([1, 3])
  })

  test('gives a job’s slot to another job while the first one only waits', async () => {
    const waiting = new Set<number>()
    const { lane, begun, lease, finish } = openLane([1, 2, 3, 4], {
      groupOf: () => 'all',
      isWaiting: piece => waiting.has(piece),
    })
    lane.wake()
    await settle()
    expect(begun).toEqual([1, 2])
    waiting.add(1)
    lane.wake()
    await settle()
    expect(begun).toEqual([1, 2, 3])
    expect(lease.mock.lastCall).toEqual([1, new Map([['all', 1]])])
    // The waiting piece continues, so nothing new begins until a slot is free again.
    waiting.delete(1)
    finish(2)
    await settle()
    expect(begun).toEqual([1, 2, 3])
    finish(3)
    await settle()
    expect(begun).toEqual([1, 2, 3, 4])
  })

  test('gives a job’s slot to another one while the store takes its result, up to the number of slots', async () => {
    const { lane, begun, lease } = openLane([1, 2, 3, 4, 5, 6])
    lane.wake()
    await settle()
    for (const piece of [1, 2]) lane.freeSlot(piece)
    await settle()
    expect(begun).toEqual([1, 2, 3, 4])
    for (const piece of [3, 4]) lane.freeSlot(piece)
    await settle()
    expect([begun.length, lease.mock.calls.length, lane.running.size]).toEqual([4, 2, 4])
  })

  test('computes the group of a delivery once for all counts of the slots', async () => {
    const groupOf = vi.fn(({ to }: { readonly to: string }) => to)
    const remembered = rememberGroups(groupOf)
    const [first, second] = [{ to: 'a' }, { to: 'b' }]
    expect([first, second, first, first].map(remembered)).toEqual(['a', 'b', 'a', 'a'])
    expect(groupOf).toHaveBeenCalledTimes(2)
  })

  test('runs other groups while one group hangs', async () => {
    const waiting = [1, 2, 3, 4, 10]
    const groupOf = (piece: number) => (piece < 10 ? 'hanging' : 'quick')
    // The lease returns at most two pieces of a group, as a store does.
    const lease = vi.fn(async (limit: number, running: ReadonlyMap<string, number>) => {
      const counts = new Map(running)
      const taken = waiting.filter(piece => {
        const count = (counts.get(groupOf(piece)) ?? 0) + 1
        if (count <= 2) counts.set(groupOf(piece), count)
        return count <= 2
      })
      for (const piece of taken.slice(0, limit)) waiting.splice(waiting.indexOf(piece), 1)
      return taken.slice(0, limit)
    })
    const { lane, begun, finish } = openLane([1, 2, 3, 4, 10], { slots: 4, groupOf, lease })
    lane.wake()
    await settle()
    expect(begun).toEqual([1, 2, 10])
    finish(1)
    await settle()
    expect(begun).toEqual([1, 2, 10, 3])
    expect(lease).toHaveBeenLastCalledWith(
      2,
      new Map([
        ['hanging', 1],
        ['quick', 1],
      ]),
    )
  })

  test('polls once for many simultaneous wake-ups', async () => {
    const { lane, lease } = openLane([])
    for (let count = 0; count < 50; count += 1) lane.wake()
    await settle()
    expect(lease).toHaveBeenCalledTimes(1)
  })

  test('polls again after a wake-up during a poll', async () => {
    const work: number[] = []
    const polling = createGate()
    const { lane, begun } = openLane(work, {
      lease: async limit => {
        const leased = work.splice(0, limit)
        if (leased.length === 0 && begun.length === 0) await polling.opened
        return leased
      },
    })
    lane.wake()
    await settle()
    work.push(7)
    lane.wake()
    await settle()
    polling.open()
    await settle()
    expect(begun).toEqual([7])
  })

  test('continues after an empty poll', async () => {
    const work: number[] = []
    const { lane, begun } = openLane(work)
    lane.wake()
    await settle()
    work.push(1)
    lane.wake()
    await settle()
    expect(begun).toEqual([1])
  })

  test('continues after a wake-up without a free slot', async () => {
    const { lane, begun, finish } = openLane([1, 2, 3], { slots: 1 })
    for (const piece of [1, 2, 3]) {
      lane.wake()
      await settle()
      lane.wake()
      await settle()
      finish(piece)
    }
    await settle()
    expect(begun).toEqual([1, 2, 3])
  })

  test('reports failed work and failed polls, and continues', async () => {
    const errors: unknown[] = []
    const lease = vi.fn<WorkPoolOptions<number>['lease']>()
    lease.mockRejectedValueOnce('cannot look')
    lease.mockResolvedValueOnce([1])
    lease.mockResolvedValue([])
    const { lane } = openLane([], {
      lease,
      run: async () => Promise.reject('cannot work'),
      onError: error => errors.push(error),
    })
    lane.wake()
    await settle()
    lane.wake()
    await settle()
    expect(errors).toEqual(['cannot look', 'cannot work'])
    expect(lane.running.size).toBe(0)
  })

  test('takes no work after it is closed', async () => {
    const { lane, lease } = openLane([1], { isClosed: () => true })
    lane.wake()
    await settle()
    expect(lease).not.toHaveBeenCalled()
    await lane.drain()
  })

  test('waits at its end for running work and for a poll', async () => {
    const leasing = createGate()
    let isClosed = false
    const { lane, begun, finish } = openLane([1], {
      isClosed: () => isClosed,
      lease: async () => {
        await leasing.opened
        return [1]
      },
    })
    lane.wake()
    await settle()
    isClosed = true
    let isDrained = false
    const drained = lane.drain().then(() => {
      isDrained = true
    })
    await settle()
    expect(isDrained).toBe(false)
    leasing.open()
    await settle()
    expect([begun, isDrained]).toEqual([[1], false])
    finish(1)
    await drained
    expect(lane.running.size).toBe(0)
  })

  describe('for a store that leases work before anybody polls,', () => {
    const openShared = () => openLane([], { slots: 3, groupOf: piece => (piece < 10 ? 'a' : 'b'), groupSlots: () => 2 })

    test('has capacity after a poll of all work, for as many as a group has slots', () => {
      const { lane } = openShared()
      expect(lane.hasCapacity(1)).toBe(false)
      expect(lane.beginPoll()).toEqual({ limit: 3, usedByGroup: new Map() })
      for (const piece of [1, 2]) {
        expect(lane.hasCapacity(1)).toBe(true)
        lane.reserveSlot(piece)
      }
      expect([lane.hasCapacity(1), lane.hasCapacity(11)]).toEqual([false, true])
      lane.reserveSlot(11)
      expect(lane.hasCapacity(11)).toBe(false)
    })

    test('lets no work overtake a full group before the next poll of all work', async () => {
      const lease = vi.fn(async () => [])
      const { lane, finish } = openLane([1, 2], { groupOf: () => 'a', groupSlots: () => 1, lease })
      lane.beginPoll()
      lane.reserveSlot(1)
      lane.begin(1)
      expect(lane.hasCapacity(1)).toBe(false)
      // A poll that finds the group full leases no work of the group.
      lane.beginPoll()
      finish(1)
      await settle()
      expect(lane.hasCapacity(1)).toBe(false)
      lane.beginPoll()
      expect(lane.hasCapacity(1)).toBe(true)
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('does not poll when work ends without a full group', async () => {
      const lease = vi.fn(async () => [])
      const { lane, finish } = openLane([1], { lease })
      lane.beginPoll()
      lane.reserveSlot(1)
      lane.begin(1)
      finish(1)
      await settle()
      expect(lane.running.size).toBe(0)
      expect(lease).not.toHaveBeenCalled()
    })

    test('starts work beside a poll in slots that the poll cannot fill', () => {
      const groupOf = (piece: number) => (piece < 10 ? 'a' : 'b')
      const { lane } = openLane([], { slots: 20, groupOf, groupSlots: () => 18 })
      expect(lane.beginPoll(true).limit).toBe(20)
      expect(lane.hasCapacity(1)).toBe(false)
      lane.endPoll(leasedNothing)
      // This poll found nothing, so the next one is smaller.
      expect(lane.beginPoll(true).limit).toBe(16)
      for (const piece of [1, 2, 11, 12]) {
        expect(lane.hasCapacity(piece)).toBe(true)
        lane.reserveSlot(piece)
        if (piece === 2) expect(lane.hasCapacity(1)).toBe(false)
      }
      expect(lane.hasCapacity(11)).toBe(false)
    })

    test('makes a larger poll at once after a poll with a full result', async () => {
      const limits: number[] = []
      const counts = [0, 16, 20, 0]
      const lease = vi.fn(async () => {
        const { limit } = lane.beginPoll(true)
        limits.push(limit)
        const pieces = Array.from({ length: counts.shift() ?? 0 }, (_, at) => limits.length * 100 + at)
        lane.endPoll({ leased: pieces.length, readyCount: pieces.length, heldByOthers: new Map() })
        return pieces
      })
      const { lane } = openLane([], { slots: 100, lease })
      lane.wake()
      await settle()
      lane.wake()
      await settle()
      expect(limits).toEqual([100, 16, 32])
      lane.wake()
      await settle()
      expect(limits).toEqual([100, 16, 32, 40])
    })

    test('starts nothing after a poll with a full result, even if others kept the pool busy', () => {
      const { lane } = openLane([], { slots: 100 })
      lane.beginPoll(true)
      lane.endPoll(leasedNothing)
      expect(lane.beginPoll(true).limit).toBe(16)
      lane.endPoll({ leased: 0, readyCount: 16, heldByOthers: new Map() })
      expect(lane.hasCapacity(1)).toBe(false)
      expect(lane.beginPoll(true).limit).toBe(32)
    })

    test('polls if nothing starts in a reserved slot, but not after a reverted lease', async () => {
      const lease = vi.fn(async () => [])
      const { lane } = openLane([], { slots: 1, lease })
      for (const end of [lane.undoLease, lane.releaseSlot]) {
        lane.beginPoll()
        lane.reserveSlot(1)
        end(1)
        await settle()
      }
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('polls when work of a group ends that is full together with others', async () => {
      const lease = vi.fn(async () => [])
      const { lane, finish } = openLane([1], { slots: 9, groupOf: () => 'a', groupSlots: () => 2, lease })
      lane.reserveSlot(1)
      lane.beginPoll(true)
      lane.endPoll({ leased: 0, readyCount: 0, heldByOthers: new Map([['a', 1]]) })
      lane.begin(1)
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('gives the next poll all slots after they have run out', () => {
      const { lane } = openLane([], { slots: 20 })
      lane.beginPoll(true)
      lane.endPoll(leasedNothing)
      for (let piece = 0; piece < 20; piece += 1) lane.reserveSlot(piece)
      for (let piece = 0; piece < 18; piece += 1) lane.releaseSlot(piece)
      expect(lane.beginPoll(true).limit).toBe(18)
    })

    test('starts as much other work of a group as leaves half of its slots free', () => {
      const { lane } = openLane([], { slots: 20, groupOf: () => 'a', groupSlots: () => 8 })
      lane.beginPoll(true)
      lane.endPoll({ leased: 0, readyCount: 0, heldByOthers: new Map([['a', 2]]) })
      for (const piece of [1, 2]) {
        expect(lane.hasCapacity(1)).toBe(true)
        lane.reserveSlot(piece)
      }
      expect([lane.hasCapacity(1), lane.maxConcurrent('a')]).toEqual([false, 8])
      lane.beginPoll(true)
      lane.endPoll(leasedNothing)
      expect(lane.hasCapacity(1)).toBe(true)
    })

    test('frees a slot without work, and a closed pool has none', () => {
      let isClosed = false
      const { lane } = openLane([], { slots: 1, isClosed: () => isClosed })
      lane.reserveSlot(1)
      expect(lane.beginPoll().limit).toBe(0)
      lane.releaseSlot(1)
      expect(lane.beginPoll().limit).toBe(1)
      isClosed = true
      expect(lane.hasCapacity(1)).toBe(false)
    })

    test('waits at its end for work that has not started too', async () => {
      const { lane, begun, finish } = openLane([1])
      lane.reserveSlot(1)
      let isDrained = false
      const drained = lane.drain().then(() => {
        isDrained = true
      })
      await settle()
      lane.begin(1)
      await settle()
      expect([begun, isDrained]).toEqual([[1], false])
      finish(1)
      await drained
    })

    test('polls once for ended work if it counts alone, and again after a full group', async () => {
      const lease = vi.fn(async (limit: number) => [1, 2].splice(lease.mock.calls.length - 1, limit && 1))
      const groupOf = () => 'a'
      const { lane, finish } = openLane([1, 2], { slots: 9, groupOf, groupSlots: () => 2, countsAlone: true, lease })
      lane.wake()
      await settle()
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(1)
      const full = openLane([1], { slots: 9, groupOf, groupSlots: () => 1, countsAlone: true })
      full.lane.wake()
      await settle()
      full.finish(1)
      await settle()
      expect(full.lease).toHaveBeenCalledTimes(2)
    })

    test('polls again after a failed poll', async () => {
      const lease = vi.fn(async () => Promise.reject('cannot look'))
      const { lane, finish } = openLane([1], { lease })
      lane.beginPoll()
      lane.wake()
      await settle()
      lane.reserveSlot(1)
      lane.begin(1)
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(2)
    })
  })
})
