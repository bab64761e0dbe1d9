import { LeaseLost, noLog, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createPartialChannel } from '../../test/channels.ts'
import type { MemoryStore, MemoryStoreOptions } from '../../test/memory-store.ts'
import { createGate, createMemoryStore, createQuietSystem, delivery, turn } from '../../test/memory-store.ts'
import { createSlidingWindowPolicy } from '../history/sliding-window.ts'
import type { Agent } from '../ports/agent/agent.ts'
import type { LeaseRequest } from '../ports/records/work/lease-request.ts'
import type { WorkerSystem } from './pools/worker-options.ts'
import type { Worker } from './worker.ts'
import { startWorker } from './worker.ts'

const retry = { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 }

interface WorkerBench {
  readonly memory: MemoryStore
  readonly worker: Worker
}

interface WorkerBenchOptions extends MemoryStoreOptions {
  readonly handle?: Agent['handle']
  readonly transmit?: () => Promise<object>
  readonly system?: Partial<WorkerSystem>
  readonly leaseMs?: number
  readonly turnsPerAgent?: number
}

function openWorkerBench({
  handle = () => 'hi',
  transmit = async () => ({}),
  system,
  leaseMs = 60_000,
  turnsPerAgent = 2,
  ...store
}: WorkerBenchOptions): WorkerBench {
  const memory = createMemoryStore(store)
  const quietSystem = createQuietSystem(system)
  const channel = createPartialChannel('activitypub', {
    address: () => ({ deliveries: [], aliases: [] }),
    prepare: () => ({ wire: 'document', transmit }),
  })
  const turnContext = {
    store: memory.store,
    system: quietSystem,
    retry,
    maxCrashes: 3,
    findAgent: () => ({ agent: { handle }, history: createSlidingWindowPolicy(), deadlineMs: 60_000 }),
    channels: [channel],
    presentParts: () => [],
    readAttachment: async () => ({ bytes: new Uint8Array() }),
  }
  const sendDeps = { store: memory.store, system: quietSystem, retry, channels: [channel] }
  const options = { holder: 'me', turnSlots: 2, turnsPerAgent, deliverySlots: 2, deliveriesPerHost: 2, leaseMs }
  return { memory, worker: startWorker(turnContext, sendDeps, quietSystem, options) }
}

/** Creates an agent that begins and then waits for its signal. */
function createWaitingAgent() {
  const workStart = createGate()
  const handle: Agent['handle'] = (_message, { signal }) => {
    workStart.open()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  }
  return { handle, handleStart: workStart.opened }
}

/** Waits for this many microtasks, as a caller with nested functions may. */
async function waitMicrotasks(hops: number): Promise<void> {
  for (let hop = 0; hop < hops; hop += 1) await undefined
}

describe('startWorker()', () => {
  test('runs queued turns and deliveries, and those that a notice announces', async () => {
    const { memory, worker } = openWorkerBench({})
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(memory.commits).toHaveLength(1))
    memory.addTurns(turn(2), turn(3), turn(4))
    memory.addDeliveries(delivery('d1'))
    await vi.waitFor(() => {
      expect(memory.commits.map(({ turn: { message } }) => message)).toEqual([1, 2, 3, 4])
      expect(memory.settlements).toMatchObject([{ delivery: { id: 'd1' }, settlement: { state: 'sent' } }])
    })
    await worker.stop(1_000)
  })

  test('polls for the named kinds of work, and for all kinds if it knows none of them', async () => {
    const leaseCalls: string[] = []
    const { memory, worker } = openWorkerBench({ system: { sleep: () => new Promise(() => {}) } })
    for (const name of ['leaseTurns', 'leaseDeliveries', 'leaseBroadcasts'] as const) {
      const lease = memory.store[name] as (request: LeaseRequest) => Promise<readonly never[]>
      const poll = (request: LeaseRequest) => {
        leaseCalls.push(name)
        return lease(request)
      }
      Object.assign(memory.store, { [name]: poll })
    }
    const pollAfter = async (payload: unknown) => {
      leaseCalls.length = 0
      memory.store.notify('work', payload)
      await vi.waitFor(() => expect(leaseCalls.length).toBeGreaterThan(0))
      return [...new Set(leaseCalls)]
    }
    await vi.waitFor(() => expect(leaseCalls).toContain('leaseBroadcasts'))
    expect(await pollAfter(['turns'])).toEqual(['leaseTurns'])
    expect(await pollAfter(['deliveries'])).toEqual(['leaseDeliveries'])
    expect(await pollAfter(undefined)).toEqual(['leaseTurns', 'leaseDeliveries', 'leaseBroadcasts'])
    await worker.stop(0)
  })

  test.each([
    { turnsPerAgent: 2, before: 4, name: 'calls the agent for the next turns while the answers of others are stored' },
    // This store ignores shares, so the two slots are the limit.
    { turnsPerAgent: 1, before: 2, name: 'stores an answer before the next call of an agent with one turn at a time' },
  ])('$name', async ({ turnsPerAgent, before }) => {
    const storeGate = createGate()
    const askedIds: unknown[] = []
    const handle: Agent['handle'] = ({ id }) => {
      askedIds.push(id)
      return 'hi'
    }
    const { memory, worker } = openWorkerBench({ handle, turnsPerAgent })
    const { commit } = memory.store
    memory.store.commit = async (...args) => {
      if (memory.commits.length === 0) await storeGate.opened
      return commit(...args)
    }
    memory.addTurns(turn(1), turn(2), turn(3), turn(4), turn(5))
    await vi.waitFor(() => expect(askedIds).toHaveLength(before))
    await waitMicrotasks(50)
    expect([askedIds.length, memory.commits]).toEqual([before, []])
    storeGate.open()
    await vi.waitFor(() => expect(memory.commits).toHaveLength(5))
    await worker.stop(1_000)
  })

  test('polls by itself when work without a notice falls due', async () => {
    const sleeps: number[] = []
    const wake = createGate()
    const { memory, worker } = openWorkerBench({
      nextDue: async () => (sleeps.length === 0 ? 1_400 : undefined),
      system: {
        now: () => 1_000,
        sleep: async ms => {
          sleeps.push(ms)
          await (ms === 400 ? wake.opened : new Promise(() => {}))
        },
      },
    })
    await vi.waitFor(() => expect(sleeps).toContain(400))
    memory.addTurnsSilently(turn(1))
    wake.open()
    await vi.waitFor(() => expect(memory.commits).toHaveLength(1))
    await worker.stop(0)
  })

  test('calls an agent after code that awaits the lease can listen to its message', async () => {
    const order: string[] = []
    const { memory, worker } = openWorkerBench({ handle: () => void order.push('called') })
    const lease = memory.store.leaseTurns
    memory.store.leaseTurns = async request => {
      const leased = await lease(request)
      if (leased.length > 0) void waitMicrotasks(20).then(() => order.push('followed'))
      return leased
    }
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(order).toEqual(['followed', 'called']))
    await worker.stop(0)
  })

  test('renews the leases of running work', async () => {
    const { handle, handleStart } = createWaitingAgent()
    const { memory, worker } = openWorkerBench({ handle, leaseMs: 30 })
    memory.addTurns(turn(1))
    await handleStart
    await vi.waitFor(() => expect(memory.renewedWork.length).toBeGreaterThan(2))
    expect(memory.renewedWork[0]).toMatchObject({ message: 1 })
    await worker.stop(0)
  })

  test('renews running work before it leases more if the clock has jumped forward', async () => {
    let now = 0
    const { handle, handleStart } = createWaitingAgent()
    const { memory, worker } = openWorkerBench({ handle, system: { now: () => now } })
    memory.addTurns(turn(1))
    await handleStart
    const order: string[] = []
    vi.spyOn(memory.store, 'renew').mockImplementation(async () => void order.push('renewed'))
    vi.spyOn(memory.store, 'leaseTurns').mockImplementation(async () => {
      order.push('leased')
      return []
    })
    now = 61_000
    memory.store.notify('work', ['turns'])
    await vi.waitFor(() => expect(order).toContain('leased'))
    expect(order[0]).toBe('renewed')
    await worker.stop(0)
  })

  test('ends a turn at once if another worker has taken it over', async () => {
    const signals: AbortSignal[] = []
    const handle: Agent['handle'] = (_, { signal }) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const { memory, worker } = openWorkerBench({ handle, leaseMs: 30 })
    // The lease is lost only after the agent has the turn, which may be late on a busy machine.
    vi.spyOn(memory.store, 'renew').mockImplementation(async () => {
      if (signals.length > 0) throw new LeaseLost('lost')
    })
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(signals[0]?.aborted).toBe(true))
    expect(memory.commits).toEqual([])
    await worker.stop(0)
  })

  test('continues after failed work or a lost result', async () => {
    const log = { ...noLog, warn: vi.fn(), error: vi.fn() }
    const { memory, worker } = openWorkerBench({ system: { log } })
    vi.spyOn(memory.store, 'commit')
      .mockRejectedValueOnce(new LeaseLost('lost'))
      .mockRejectedValueOnce(new Error('disk full'))
    memory.addTurns(turn(1), turn(2))
    await vi.waitFor(() => expect(log.error).toHaveBeenCalledTimes(1))
    expect(log.warn).toHaveBeenCalledWith({ err: expect.any(LeaseLost) }, 'lease lost, result discarded')
    memory.addTurns(turn(3))
    const failedCommit = { turn: { message: 2 }, answer: { error: 'the answer cannot be stored' } }
    await vi.waitFor(() => expect(memory.commits).toMatchObject([failedCommit, { turn: { message: 3 } }]))
    await worker.stop(1_000)
  })
})

describe('startWorker().stop()', () => {
  test('resolves at once if nothing runs', async () => {
    const sleep = vi.fn(createQuietSystem().sleep)
    const { worker } = openWorkerBench({ system: { sleep } })
    await worker.stop(60_000)
    const grace = sleep.mock.calls.find(([ms, signal]) => ms === 60_000 && signal?.aborted)
    expect(grace).toBeDefined()
  })

  test('leases no more work', async () => {
    const { memory, worker } = openWorkerBench({})
    await worker.stop(1_000)
    const lease = vi.spyOn(memory.store, 'leaseTurns')
    memory.addTurns(turn(1))
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(lease).not.toHaveBeenCalled()
  })

  test('lets running work finish within the grace period', async () => {
    const workStart = createGate()
    const finish = createGate()
    const handle = async () => {
      workStart.open()
      await finish.opened
      return 'done'
    }
    const { memory, worker } = openWorkerBench({ handle })
    memory.addTurns(turn(1))
    await workStart.opened
    const stopEnd = worker.stop(60_000)
    finish.open()
    await stopEnd
    expect(memory.commits).toHaveLength(1)
    expect(memory.releases).toEqual([])
  })

  test('releases turns after the grace period, without counting the attempt', async () => {
    const { handle, handleStart } = createWaitingAgent()
    const { memory, worker } = openWorkerBench({ handle })
    memory.addTurns(turn(1))
    await handleStart
    await worker.stop(5)
    expect(memory.commits).toEqual([])
    expect(memory.releases).toMatchObject([{ turn: { message: 1 }, isUncounted: true }])
  })

  test('releases even the turn of an agent that ignores its abort signal', async () => {
    const workStart = createGate()
    const { memory, worker } = openWorkerBench({
      handle: () => {
        workStart.open()
        return new Promise(() => {})
      },
    })
    memory.addTurns(turn(1))
    await workStart.opened
    await worker.stop(5)
    expect(memory.releases).toHaveLength(1)
  })

  test('waits for a running delivery and settles it', async () => {
    const workStart = createGate()
    const finish = createGate()
    const transmit = async () => {
      workStart.open()
      await finish.opened
      return {}
    }
    const { memory, worker } = openWorkerBench({ transmit })
    memory.addDeliveries(delivery('d1'))
    await workStart.opened
    const stopped = worker.stop(60_000)
    finish.open()
    await stopped
    expect(memory.settlements).toMatchObject([{ settlement: { state: 'sent' } }])
  })

  test('waits for work that a poll is about to return', async () => {
    const taking = createGate()
    const taken = createGate()
    const { memory, worker } = openWorkerBench({
      beforeLease: async () => {
        taking.open()
        await taken.opened
      },
    })
    memory.addTurns(turn(1))
    await taking.opened
    const stopped = worker.stop(60_000)
    taken.open()
    await stopped
    expect(memory.commits).toHaveLength(1)
  })

  test('releases work that it leased too late, without running it', async () => {
    const taking = createGate()
    const taken = createGate()
    const handle = vi.fn(() => 'hi')
    const { memory, worker } = openWorkerBench({
      handle,
      beforeLease: async () => {
        taking.open()
        await taken.opened
      },
    })
    memory.addTurns(turn(1))
    await taking.opened
    const stopped = worker.stop(0)
    setTimeout(() => taken.open(), 20)
    await stopped
    expect(handle).not.toHaveBeenCalled()
    expect(memory.releases).toMatchObject([{ isUncounted: true }])
  })
})

/** Makes a method of the store fail this many times, with the errors of `createError`. */
function failFirst<Name extends 'commit' | 'settle' | 'release'>(
  { store }: MemoryStore,
  name: Name,
  times: number,
  createError: () => Error = () => new Unavailable('Cannot store: the database does not take writes now'),
): () => number {
  const originalMethod = store[name] as (...args: unknown[]) => Promise<void>
  let callCount = 0
  Object.assign(store, {
    async [name](...args: unknown[]) {
      callCount += 1
      if (callCount <= times) throw createError()
      return originalMethod(...args)
    },
  })
  return () => callCount
}

describe('while the store is unavailable', () => {
  test('the worker keeps an answer and commits it later, without another call of the agent', async () => {
    const handle = vi.fn(() => 'hi')
    const { memory, worker } = openWorkerBench({ handle })
    failFirst(memory, 'commit', 3)
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(memory.commits).toHaveLength(1))
    expect(handle).toHaveBeenCalledTimes(1)
    expect(memory.releases).toEqual([])
    await worker.stop(1_000)
  })

  test('the worker settles a sent delivery later, without sending it again', async () => {
    const transmit = vi.fn(async () => ({}))
    const { memory, worker } = openWorkerBench({ transmit })
    failFirst(memory, 'settle', 3)
    memory.addDeliveries(delivery('d1'))
    await vi.waitFor(() => expect(memory.settlements).toHaveLength(1))
    expect(transmit).toHaveBeenCalledTimes(1)
    await worker.stop(1_000)
  })

  test('the worker stores pending results before it leases new work, so that nothing runs twice', async () => {
    const order: string[] = []
    const { memory, worker } = openWorkerBench({})
    const commit = memory.store.commit.bind(memory.store)
    const { leaseTurns } = memory.store
    let [isAway, refused] = [true, 0]
    Object.assign(memory.store, {
      async commit(...args: Parameters<typeof commit>) {
        if (isAway) refused += 1
        if (isAway) throw new Unavailable('away')
        order.push('commit')
        return commit(...args)
      },
      async leaseTurns(request: Parameters<typeof leaseTurns>[0]) {
        if (!isAway) order.push('lease')
        return leaseTurns(request)
      },
    })
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(refused).toBeGreaterThan(1))
    isAway = false
    memory.addTurns(turn(2))
    await vi.waitFor(() => expect(memory.commits).toHaveLength(2))
    expect(order[0]).toBe('commit')
    await worker.stop(1_000)
  })

  test('the worker drops a result whose lease was lost in the meantime', async () => {
    const { memory, worker } = openWorkerBench({})
    const readCallCount: () => number = failFirst(memory, 'commit', 2, () =>
      readCallCount() === 1 ? new Unavailable('away') : new LeaseLost('somebody else has it'),
    )
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(readCallCount()).toBe(2))
    memory.addTurns(turn(2))
    await vi.waitFor(() => expect(memory.commits.map(({ turn: { message } }) => message)).toEqual([2]))
    await worker.stop(1_000)
  })

  test('a stopping process does not wait for the store forever', async () => {
    const { memory, worker } = openWorkerBench({})
    const asked = failFirst(memory, 'commit', Number.POSITIVE_INFINITY)
    failFirst(memory, 'release', Number.POSITIVE_INFINITY)
    memory.addTurns(turn(1))
    await vi.waitFor(() => expect(asked()).toBeGreaterThan(0))
    await worker.stop(100)
    expect(memory.commits).toEqual([])
  })
})
