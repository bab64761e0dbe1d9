import type { AgentDeps } from '@postern/agents'
import type { AgentPublisher } from '@postern/pipeline'
import { expect, test, vi } from 'vitest'
import { startAgents } from './agent-starts.ts'

/** Opens a clock on which each pause lasts until the test ends it. */
function openClock() {
  const pauses: { readonly ms: number; end(): void }[] = []
  const clock = { at: 0 }
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => {
      const end = () => {
        clock.at += ms
        resolve()
      }
      pauses.push({ ms, end })
      signal?.addEventListener('abort', () => resolve())
    })
  return { clock, pauses, sleep }
}

function openStarts(starts: Readonly<Record<string, ((publisher: AgentPublisher) => unknown) | undefined>>) {
  const { clock, pauses, sleep } = openClock()
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const shutdown = new AbortController()
  const agents = {
    list: () => Object.keys(starts).map(name => ({ name })),
    findRunning: (name: string) => ({ agent: { start: starts[name] } }),
  } as unknown as Pick<AgentDeps, 'list' | 'findRunning'>
  const openPublisher = vi.fn(() => ({ signal: shutdown.signal }) as AgentPublisher)
  const system = { now: () => clock.at, sleep, log }
  return {
    ...startAgents({ agents, system, openPublisher }, shutdown.signal),
    clock,
    pauses,
    log,
    shutdown,
    openPublisher,
  }
}

test('startAgents() opens no publisher for agents without start()', async () => {
  const quietAgents = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`quiet${index}`, undefined]))
  const start = vi.fn()
  const { firstEnded, openPublisher } = openStarts({ ...quietAgents, desk: start })
  await firstEnded
  expect(start).toHaveBeenCalledTimes(1)
  expect(openPublisher).toHaveBeenCalledTimes(1)
})

test('startAgents() calls a failed start() again after growing pauses, until it succeeds', async () => {
  const start = vi.fn().mockImplementation(() => {
    if (start.mock.calls.length < 5) throw new Error('away')
  })
  const { pauses, listFailed, log } = openStarts({ desk: start })
  for (const count of [1, 2, 3, 4]) {
    await vi.waitFor(() => expect(pauses).toHaveLength(count))
    expect(listFailed()).toMatchObject([{ agent: 'desk', failures: count, error: new Error('away') }])
    pauses[count - 1]?.end()
  }
  await vi.waitFor(() => expect(listFailed()).toEqual([]))
  expect(pauses.map(({ ms }) => ms)).toEqual([1_000, 2_000, 4_000, 8_000])
  expect(log.error).toHaveBeenCalledTimes(4)
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('startAgents() pauses for five minutes at most, and for one second after a long run', async () => {
  let ranMs = 0
  const start = vi.fn(async () => {
    clock.at += ranMs
    throw new Error('away')
  })
  const { clock, pauses } = openStarts({ desk: start })
  for (let count = 1; count <= 10; count += 1) {
    await vi.waitFor(() => expect(pauses).toHaveLength(count))
    if (count === 10) ranMs = 400_000
    pauses[count - 1]?.end()
  }
  await vi.waitFor(() => expect(pauses).toHaveLength(11))
  expect(pauses.slice(8).map(({ ms }) => ms)).toEqual([256_000, 300_000, 1_000])
})

test('startAgents() does not count a start() that keeps running, or that shutdown ends, as a failure', async () => {
  const { firstEnded, listFailed, shutdown } = openStarts({
    endless: ({ signal }) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
    done: () => undefined,
  })
  const onEnd = vi.fn()
  void firstEnded.then(onEnd)
  await new Promise(resolve => setImmediate(resolve))
  expect(onEnd).not.toHaveBeenCalled()
  expect(listFailed()).toEqual([])
  shutdown.abort()
  await firstEnded
  expect(listFailed()).toEqual([])
})

test('startAgents() does not retry after shutdown', async () => {
  const start = vi.fn().mockRejectedValue(new Error('away'))
  const { pauses, shutdown } = openStarts({ desk: start })
  await vi.waitFor(() => expect(pauses).toHaveLength(1))
  shutdown.abort()
  await new Promise(resolve => setImmediate(resolve))
  expect(start).toHaveBeenCalledTimes(1)
})
