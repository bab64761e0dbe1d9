import { setImmediate as nextRound } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { createGate } from '../../../test/memory-store.ts'
import { rememberGroups } from './concurrency.ts'
import type { WorkPoolOptions } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

type Gates = Map<number, ReturnType<typeof createGate>>

/** Opens a pool over `work`, in which every piece runs until its gate opens. */
function openPool(work: number[], options: Partial<WorkPoolOptions<number>> = {}) {
  const gates: Gates = new Map(work.map(piece => [piece, createGate()]))
  const startedJobs: number[] = []
  const lease = vi.fn(async (limit: number) => work.splice(0, limit))
  const pool = createWorkPool<number>({
    slots: 2,
    groupOf: () => undefined,
    lease,
    async run(piece) {
      startedJobs.push(piece)
      await gates.get(piece)?.opened
    },
    isClosed: () => false,
    onError() {},
    ...options,
  })
  return { pool, startedJobs, lease, finish: (piece: number) => gates.get(piece)?.open() }
}

const emptyPollEnd = { leasedCount: 0, readyCount: 0, heldByOthers: new Map() }

async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await nextRound()
}

describe('createWorkPool()', () => {
  test('runs at most one job in each slot, and fills a slot as soon as it is free', async () => {
    const { pool, startedJobs, finish } = openPool([1, 2, 3])
    pool.wake()
    await settle()
    expect(startedJobs).toEqual([1, 2])
    expect([...pool.running.keys()]).toEqual([1, 2])
    finish(2)
    await settle()
    expect(startedJobs).toEqual([1, 2, 3])
    expect([...pool.running.keys()]).toEqual([1, 3])
  })

  test('gives a job’s slot to another job while the first one only waits', async () => {
    const waitingPieces = new Set<number>()
    const { pool, startedJobs, lease, finish } = openPool([1, 2, 3, 4], {
      groupOf: () => 'all',
      isWaiting: piece => waitingPieces.has(piece),
    })
    pool.wake()
    await settle()
    expect(startedJobs).toEqual([1, 2])
    waitingPieces.add(1)
    pool.wake()
    await settle()
    expect(startedJobs).toEqual([1, 2, 3])
    expect(lease.mock.lastCall).toEqual([1, new Map([['all', 1]])])
    // The waiting piece continues, so nothing new begins until a slot is free again.
    waitingPieces.delete(1)
    finish(2)
    await settle()
    expect(startedJobs).toEqual([1, 2, 3])
    finish(3)
    await settle()
    expect(startedJobs).toEqual([1, 2, 3, 4])
  })

  test('gives the slot of a job to another one while the first is being stored, up to the number of slots', async () => {
    const { pool, startedJobs, lease } = openPool([1, 2, 3, 4, 5, 6])
    pool.wake()
    await settle()
    for (const piece of [1, 2]) pool.freeSlot(piece)
    await settle()
    expect(startedJobs).toEqual([1, 2, 3, 4])
    for (const piece of [3, 4]) pool.freeSlot(piece)
    await settle()
    expect([startedJobs.length, lease.mock.calls.length, pool.running.size]).toEqual([4, 2, 4])
  })

  test('computes the group of a delivery once for all counts of the slots', async () => {
    const groupOf = vi.fn(({ to }: { readonly to: string }) => to)
    const findGroup = rememberGroups(groupOf)
    const [first, second] = [{ to: 'a' }, { to: 'b' }]
    expect([first, second, first, first].map(findGroup)).toEqual(['a', 'b', 'a', 'a'])
    expect(groupOf).toHaveBeenCalledTimes(2)
  })

  test('runs other groups while one group hangs', async () => {
    const queuedPieces = [1, 2, 3, 4, 10]
    const groupOf = (piece: number) => (piece < 10 ? 'hanging' : 'quick')
    // The lease returns at most two pieces of a group, as a store does.
    const lease = vi.fn(async (limit: number, running: ReadonlyMap<string, number>) => {
      const counts = new Map(running)
      const leasedPieces = queuedPieces.filter(piece => {
        const count = (counts.get(groupOf(piece)) ?? 0) + 1
        if (count <= 2) counts.set(groupOf(piece), count)
        return count <= 2
      })
      for (const piece of leasedPieces.slice(0, limit)) queuedPieces.splice(queuedPieces.indexOf(piece), 1)
      return leasedPieces.slice(0, limit)
    })
    const { pool, startedJobs, finish } = openPool([1, 2, 3, 4, 10], { slots: 4, groupOf, lease })
    pool.wake()
    await settle()
    expect(startedJobs).toEqual([1, 2, 10])
    finish(1)
    await settle()
    expect(startedJobs).toEqual([1, 2, 10, 3])
    expect(lease).toHaveBeenLastCalledWith(
      2,
      new Map([
        ['hanging', 1],
        ['quick', 1],
      ]),
    )
  })

  test('polls once for many simultaneous wake-ups', async () => {
    const { pool, lease } = openPool([])
    for (let count = 0; count < 50; count += 1) pool.wake()
    await settle()
    expect(lease).toHaveBeenCalledTimes(1)
  })

  test('polls again after a wake-up during a poll', async () => {
    const work: number[] = []
    const pollGate = createGate()
    const { pool, startedJobs } = openPool(work, {
      lease: async limit => {
        const leased = work.splice(0, limit)
        if (leased.length === 0 && startedJobs.length === 0) await pollGate.opened
        return leased
      },
    })
    pool.wake()
    await settle()
    work.push(7)
    pool.wake()
    await settle()
    pollGate.open()
    await settle()
    expect(startedJobs).toEqual([7])
  })

  test('continues after an empty poll', async () => {
    const work: number[] = []
    const { pool, startedJobs } = openPool(work)
    pool.wake()
    await settle()
    work.push(1)
    pool.wake()
    await settle()
    expect(startedJobs).toEqual([1])
  })

  test('continues after a wake-up without a free slot', async () => {
    const { pool, startedJobs, finish } = openPool([1, 2, 3], { slots: 1 })
    for (const piece of [1, 2, 3]) {
      pool.wake()
      await settle()
      pool.wake()
      await settle()
      finish(piece)
    }
    await settle()
    expect(startedJobs).toEqual([1, 2, 3])
  })

  test('reports failed work and failed polls, and continues', async () => {
    const errors: unknown[] = []
    const lease = vi.fn<WorkPoolOptions<number>['lease']>()
    lease.mockRejectedValueOnce('cannot look')
    lease.mockResolvedValueOnce([1])
    lease.mockResolvedValue([])
    const { pool } = openPool([], {
      lease,
      run: async () => Promise.reject('cannot work'),
      onError: error => errors.push(error),
    })
    pool.wake()
    await settle()
    pool.wake()
    await settle()
    expect(errors).toEqual(['cannot look', 'cannot work'])
    expect(pool.running.size).toBe(0)
  })

  test('leases no work after it is closed', async () => {
    const { pool, lease } = openPool([1], { isClosed: () => true })
    pool.wake()
    await settle()
    expect(lease).not.toHaveBeenCalled()
    await pool.drain()
  })

  test('waits in drain() for running work and for a poll', async () => {
    const leaseGate = createGate()
    let isClosed = false
    const { pool, startedJobs, finish } = openPool([1], {
      isClosed: () => isClosed,
      lease: async () => {
        await leaseGate.opened
        return [1]
      },
    })
    pool.wake()
    await settle()
    isClosed = true
    let isDrained = false
    const drained = pool.drain().then(() => {
      isDrained = true
    })
    await settle()
    expect(isDrained).toBe(false)
    leaseGate.open()
    await settle()
    expect([startedJobs, isDrained]).toEqual([[1], false])
    finish(1)
    await drained
    expect(pool.running.size).toBe(0)
  })

  describe('for a store that leases work before anybody polls,', () => {
    const openSharedPool = () =>
      openPool([], { slots: 3, groupOf: piece => (piece < 10 ? 'a' : 'b'), groupSlots: () => 2 })

    test('has capacity after a poll of all work, for as many as a group has slots', () => {
      const { pool } = openSharedPool()
      expect(pool.hasCapacity(1)).toBe(false)
      expect(pool.beginPoll()).toEqual({ limit: 3, usedByGroup: new Map() })
      for (const piece of [1, 2]) {
        expect(pool.hasCapacity(1)).toBe(true)
        pool.reserveSlot(piece)
      }
      expect([pool.hasCapacity(1), pool.hasCapacity(11)]).toEqual([false, true])
      pool.reserveSlot(11)
      expect(pool.hasCapacity(11)).toBe(false)
    })

    test('lets no work overtake a full group before the next poll of all work', async () => {
      const lease = vi.fn(async () => [])
      const { pool, finish } = openPool([1, 2], { groupOf: () => 'a', groupSlots: () => 1, lease })
      pool.beginPoll()
      pool.reserveSlot(1)
      pool.begin(1)
      expect(pool.hasCapacity(1)).toBe(false)
      // A poll that finds the group full leases no work of the group.
      pool.beginPoll()
      finish(1)
      await settle()
      expect(pool.hasCapacity(1)).toBe(false)
      pool.beginPoll()
      expect(pool.hasCapacity(1)).toBe(true)
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('does not poll when work ends without a full group', async () => {
      const lease = vi.fn(async () => [])
      const { pool, finish } = openPool([1], { lease })
      pool.beginPoll()
      pool.reserveSlot(1)
      pool.begin(1)
      finish(1)
      await settle()
      expect(pool.running.size).toBe(0)
      expect(lease).not.toHaveBeenCalled()
    })

    test('starts work beside a poll in slots that the poll cannot fill', () => {
      const groupOf = (piece: number) => (piece < 10 ? 'a' : 'b')
      const { pool } = openPool([], { slots: 20, groupOf, groupSlots: () => 18 })
      expect(pool.beginPoll(true).limit).toBe(20)
      expect(pool.hasCapacity(1)).toBe(false)
      pool.endPoll(emptyPollEnd)
      // This poll found nothing, so the next one is smaller.
      expect(pool.beginPoll(true).limit).toBe(16)
      for (const piece of [1, 2, 11, 12]) {
        expect(pool.hasCapacity(piece)).toBe(true)
        pool.reserveSlot(piece)
        if (piece === 2) expect(pool.hasCapacity(1)).toBe(false)
      }
      expect(pool.hasCapacity(11)).toBe(false)
    })

    test('makes a larger poll at once after a poll with a full result', async () => {
      const limits: number[] = []
      const counts = [0, 16, 20, 0]
      const lease = vi.fn(async () => {
        const { limit } = pool.beginPoll(true)
        limits.push(limit)
        const pieces = Array.from({ length: counts.shift() ?? 0 }, (_, at) => limits.length * 100 + at)
        pool.endPoll({ leasedCount: pieces.length, readyCount: pieces.length, heldByOthers: new Map() })
        return pieces
      })
      const { pool } = openPool([], { slots: 100, lease })
      pool.wake()
      await settle()
      pool.wake()
      await settle()
      expect(limits).toEqual([100, 16, 32])
      pool.wake()
      await settle()
      expect(limits).toEqual([100, 16, 32, 40])
    })

    test('has no capacity after a poll with a full result, even if other workers run the work', () => {
      const { pool } = openPool([], { slots: 100 })
      pool.beginPoll(true)
      pool.endPoll(emptyPollEnd)
      expect(pool.beginPoll(true).limit).toBe(16)
      pool.endPoll({ leasedCount: 0, readyCount: 16, heldByOthers: new Map() })
      expect(pool.hasCapacity(1)).toBe(false)
      expect(pool.beginPoll(true).limit).toBe(32)
    })

    test('polls if nothing starts in a reserved slot, but not after a reverted lease', async () => {
      const lease = vi.fn(async () => [])
      const { pool } = openPool([], { slots: 1, lease })
      for (const end of [pool.undoLease, pool.releaseSlot]) {
        pool.beginPoll()
        pool.reserveSlot(1)
        end(1)
        await settle()
      }
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('polls when work ends in a group that is full because of other workers', async () => {
      const lease = vi.fn(async () => [])
      const { pool, finish } = openPool([1], { slots: 9, groupOf: () => 'a', groupSlots: () => 2, lease })
      pool.reserveSlot(1)
      pool.beginPoll(true)
      pool.endPoll({ leasedCount: 0, readyCount: 0, heldByOthers: new Map([['a', 1]]) })
      pool.begin(1)
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(1)
    })

    test('gives the next poll all slots after they have run out', () => {
      const { pool } = openPool([], { slots: 20 })
      pool.beginPoll(true)
      pool.endPoll(emptyPollEnd)
      for (let piece = 0; piece < 20; piece += 1) pool.reserveSlot(piece)
      for (let piece = 0; piece < 18; piece += 1) pool.releaseSlot(piece)
      expect(pool.beginPoll(true).limit).toBe(18)
    })

    test('leaves half of the slots of a group free if other workers run its work', () => {
      const { pool } = openPool([], { slots: 20, groupOf: () => 'a', groupSlots: () => 8 })
      pool.beginPoll(true)
      pool.endPoll({ leasedCount: 0, readyCount: 0, heldByOthers: new Map([['a', 2]]) })
      for (const piece of [1, 2]) {
        expect(pool.hasCapacity(1)).toBe(true)
        pool.reserveSlot(piece)
      }
      expect([pool.hasCapacity(1), pool.maxConcurrent('a')]).toEqual([false, 8])
      pool.beginPoll(true)
      pool.endPoll(emptyPollEnd)
      expect(pool.hasCapacity(1)).toBe(true)
    })

    test('frees the slot of a ticket without work, and has no slots once it is closed', () => {
      let isClosed = false
      const { pool } = openPool([], { slots: 1, isClosed: () => isClosed })
      pool.reserveSlot(1)
      expect(pool.beginPoll().limit).toBe(0)
      pool.releaseSlot(1)
      expect(pool.beginPoll().limit).toBe(1)
      isClosed = true
      expect(pool.hasCapacity(1)).toBe(false)
    })

    test('waits in drain() for leased work that has not started', async () => {
      const { pool, startedJobs, finish } = openPool([1])
      pool.reserveSlot(1)
      let isDrained = false
      const drained = pool.drain().then(() => {
        isDrained = true
      })
      await settle()
      pool.begin(1)
      await settle()
      expect([startedJobs, isDrained]).toEqual([[1], false])
      finish(1)
      await drained
    })

    test('polls once for ended work if it counts alone, and again after a full group', async () => {
      const lease = vi.fn(async (limit: number) => [1, 2].splice(lease.mock.calls.length - 1, limit && 1))
      const groupOf = () => 'a'
      const { pool, finish } = openPool([1, 2], { slots: 9, groupOf, groupSlots: () => 2, countsAlone: true, lease })
      pool.wake()
      await settle()
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(1)
      const fullPool = openPool([1], { slots: 9, groupOf, groupSlots: () => 1, countsAlone: true })
      fullPool.pool.wake()
      await settle()
      fullPool.finish(1)
      await settle()
      expect(fullPool.lease).toHaveBeenCalledTimes(2)
    })

    test('polls again after a failed poll', async () => {
      const lease = vi.fn(async () => Promise.reject('cannot look'))
      const { pool, finish } = openPool([1], { lease })
      pool.beginPoll()
      pool.wake()
      await settle()
      pool.reserveSlot(1)
      pool.begin(1)
      finish(1)
      await settle()
      expect(lease).toHaveBeenCalledTimes(2)
    })
  })
})
