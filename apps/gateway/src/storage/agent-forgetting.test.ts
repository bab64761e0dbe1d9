import { setTimeout as sleep } from 'node:timers/promises'
import { noLog, Unavailable } from '@postern/message'
import { openSqliteStore } from '@postern/store'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseConfig } from '../config/read-config.ts'
import { createSystem } from '../system/system.ts'
import { createAgentForgetting } from './agent-forgetting.ts'

type Deps = Parameters<typeof createAgentForgetting>[0]

/** Watches the calls of agents with these `forget()` functions until the test ends. */
async function openWatch(forgets: Readonly<Record<string, () => Promise<void>>>) {
  const store = await openSqliteStore({ path: ':memory:', now: Date.now, log: noLog, channels: [] })
  const system = createSystem(
    parseConfig({ origin: 'https://agents.test', agents: { desk: { use: 'builtin:echo' } } }),
    { log: noLog, slices: [] },
  )
  const gatewayEnd = new AbortController()
  const agents = {
    list: () => Object.keys(forgets).map(name => ({ name })),
    findRunning: (name: string) => ({ agent: { forget: forgets[name] } }),
  } as unknown as ReturnType<Deps['agents']>
  const forgetting = createAgentForgetting({ store, channels: [], system, agents: () => agents })
  const plan = (agent: string, key: string, dueInMs = 0) => {
    const forgotten = { person: key, addresses: [], threads: [] }
    const planned = { agent, forgotten, due_at: Date.now() + dueInMs, failures: 0 }
    return store.records.insert({ kind: 'agent-forgetting', owner: 'gateway', key }, planned)
  }
  return {
    plan,
    forgetting,
    stop: () => gatewayEnd.abort(),
    startWatch() {
      const watch = forgetting.watch(gatewayEnd.signal)
      onTestFinished(async () => {
        gatewayEnd.abort()
        await watch
        system.close()
        await store.close()
      })
    },
  }
}

test('an agent whose forget() hangs does not delay calls of other agents', async () => {
  const forget = vi.fn(async () => undefined)
  const { plan, startWatch, forgetting } = await openWatch({ stuck: () => new Promise(() => undefined), desk: forget })
  await plan('stuck', 'a')
  await plan('desk', 'b', 700)
  startWatch()
  await vi.waitFor(() => expect(forget).toHaveBeenCalledOnce(), 10_000)
  const stuck = [{ agent: 'stuck', failures: 0 }]
  await vi.waitFor(async () => expect(await forgetting.listWaiting()).toMatchObject(stuck))
})

test('four calls of one agent run in parallel, and the next starts when one ends', async () => {
  const finishCalls: (() => void)[] = []
  const hang = () => new Promise<void>(resolve => void finishCalls.push(resolve))
  const { plan, startWatch } = await openWatch({ desk: hang })
  for (const key of ['a', 'b', 'c', 'd', 'e']) await plan('desk', key)
  startWatch()
  await vi.waitFor(() => expect(finishCalls).toHaveLength(4))
  await sleep(800)
  expect(finishCalls).toHaveLength(4)
  finishCalls[0]?.()
  await vi.waitFor(() => expect(finishCalls).toHaveLength(5))
})

test('failed calls wait with their reason', async () => {
  const { plan, startWatch, forgetting } = await openWatch({ desk: () => Promise.reject(new Error('no disk')) })
  await plan('desk', 'a')
  startWatch()
  const failed = { agent: 'desk', failures: 1, error: 'no disk', nextCallAt: expect.any(Number) }
  await vi.waitFor(async () => expect(await forgetting.listWaiting()).toEqual([failed]))
})

test('a forget() that throws at once leaves no promise without a handler', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  onTestFinished(() => void process.off('unhandledRejection', unhandled))
  const { plan, startWatch, forgetting, stop } = await openWatch({
    desk() {
      throw new Error('no disk')
    },
  })
  await plan('desk', 'a')
  startWatch()
  await vi.waitFor(async () => expect(await forgetting.listWaiting()).toMatchObject([{ error: 'no disk' }]))
  stop()
  await sleep(50)
  expect(unhandled).not.toHaveBeenCalled()
})

test.each([1e14, 3 * 86_400, Number.NaN])(
  'the gateway repeats a call within six hours, although forget() asks for %d s',
  async retryAfter => {
    const forget = vi.fn(() => Promise.reject(new Unavailable('later', { retryAfter })))
    const { plan, startWatch, forgetting } = await openWatch({ desk: forget })
    await plan('desk', 'a')
    startWatch()
    await vi.waitFor(async () => expect(await forgetting.listWaiting()).toMatchObject([{ failures: 1 }]))
    const [{ nextCallAt = 0 } = {}] = await forgetting.listWaiting()
    expect(nextCallAt - Date.now()).toBeGreaterThan(10_000)
    expect(nextCallAt - Date.now()).toBeLessThanOrEqual(6 * 3_600_000)
    await sleep(700)
    expect(forget).toHaveBeenCalledOnce()
  },
)
