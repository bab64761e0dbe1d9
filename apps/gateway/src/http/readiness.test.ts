import { expect, test, vi } from 'vitest'
import { createReadiness } from './readiness.ts'

const log = { debug() {}, info() {}, warn: vi.fn(), error() {} }
const sleepLong = () => new Promise<void>(() => {})

function open(checkWrites: () => Promise<void>, sleep: (ms: number) => Promise<void> = sleepLong) {
  const readiness = createReadiness({ checkWrites, sleep, log })
  readiness.open()
  return readiness
}

test('isReady() is true while work goes on and the store takes writes', async () => {
  const readiness = createReadiness({ checkWrites: async () => {}, sleep: sleepLong, log })
  expect(await readiness.isReady()).toBe(false)
  readiness.open()
  expect(await readiness.isReady()).toBe(true)
  readiness.close()
  expect(await readiness.isReady()).toBe(false)
})

test('isReady() is false as long as the store takes no writes, and logs that once', async () => {
  const checkWrites = vi.fn().mockRejectedValueOnce(new Error('full')).mockRejectedValueOnce(new Error('full'))
  const { isReady } = open(checkWrites.mockResolvedValue(undefined))
  log.warn.mockClear()
  expect([await isReady(), await isReady(), await isReady()]).toEqual([false, false, true])
  expect(log.warn.mock.calls.map(([, text]) => text)).toEqual([
    'not ready: the database takes no writes now',
    'ready again',
  ])
  expect(log.warn.mock.calls[0]?.[0]).toEqual({ err: new Error('full') })
})

test('isReady() does not wait for a silent database, and sends no further query before the answer', async () => {
  let answer = () => {}
  const checkWrites = vi.fn(() => new Promise<void>(resolve => (answer = resolve)))
  const waits: number[] = []
  const { isReady } = open(checkWrites, async ms => void waits.push(ms))
  expect([await isReady(), await isReady()]).toEqual([false, false])
  expect(waits).toEqual([3_000, 3_000])
  expect(checkWrites).toHaveBeenCalledTimes(1)
  answer()
  await vi.waitFor(() => {
    void isReady()
    expect(checkWrites).toHaveBeenCalledTimes(2)
  })
})

test('isReady() looks once for all who ask at the same time', async () => {
  const checkWrites = vi.fn(async () => {})
  const { isReady } = open(checkWrites)
  expect(await Promise.all([isReady(), isReady(), isReady()])).toEqual([true, true, true])
  expect(checkWrites).toHaveBeenCalledTimes(1)
})
