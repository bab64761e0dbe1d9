import { expect, test, vi } from 'vitest'
import { createReadiness } from './readiness.ts'

const log = { debug() {}, info() {}, warn: vi.fn(), error() {} }
const sleepLong = () => new Promise<void>(() => {})

function openReadiness(checkWork: () => Promise<void>, sleep: (ms: number) => Promise<void> = sleepLong) {
  const readiness = createReadiness({ checkWork, sleep, log })
  readiness.open()
  return readiness
}

test('isReady() is true while the worker runs and the store accepts writes', async () => {
  const readiness = createReadiness({ checkWork: async () => {}, sleep: sleepLong, log })
  expect(await readiness.isReady()).toBe(false)
  readiness.open()
  expect(await readiness.isReady()).toBe(true)
  readiness.close()
  expect(await readiness.isReady()).toBe(false)
})

test('isReady() is false while the store accepts no writes, and logs that once', async () => {
  const checkWork = vi.fn().mockRejectedValueOnce(new Error('full')).mockRejectedValueOnce(new Error('full'))
  const { isReady } = openReadiness(checkWork.mockResolvedValue(undefined))
  log.warn.mockClear()
  expect([await isReady(), await isReady(), await isReady()]).toEqual([false, false, true])
  expect(log.warn.mock.calls.map(([, text]) => text)).toEqual([
    'not ready: the database takes no writes, or does not answer, at the moment',
    'ready again',
  ])
  expect(log.warn.mock.calls[0]?.[0]).toEqual({ err: new Error('full') })
})

test('isReady() does not wait for a silent database, and sends no second query before the first returns', async () => {
  let finishQuery = () => {}
  const checkWork = vi.fn(() => new Promise<void>(resolve => (finishQuery = resolve)))
  const waits: number[] = []
  const { isReady } = openReadiness(checkWork, async ms => void waits.push(ms))
  expect([await isReady(), await isReady()]).toEqual([false, false])
  expect(waits).toEqual([3_000, 3_000])
  expect(checkWork).toHaveBeenCalledTimes(1)
  finishQuery()
  await vi.waitFor(() => {
    void isReady()
    expect(checkWork).toHaveBeenCalledTimes(2)
  })
})

test('isReady() makes one query for simultaneous requests', async () => {
  const checkWork = vi.fn(async () => {})
  const { isReady } = openReadiness(checkWork)
  expect(await Promise.all([isReady(), isReady(), isReady()])).toEqual([true, true, true])
  expect(checkWork).toHaveBeenCalledTimes(1)
})
