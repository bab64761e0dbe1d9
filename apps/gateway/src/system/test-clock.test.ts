import { expect, test, vi } from 'vitest'
import { createTestClock } from './test-clock.ts'

test('advance() moves the clock on and wakes only the sleepers whose time has come', async () => {
  const clock = createTestClock()
  const [early, late] = [vi.fn(), vi.fn()]
  const leaving = new AbortController()
  void clock.sleep(60_000).then(early)
  const slept = clock.sleep(120_000, leaving.signal).then(late)
  const before = clock.now()
  clock.advance(90_000)
  expect(clock.now() - before).toBeGreaterThanOrEqual(90_000)
  await vi.waitFor(() => expect(early).toHaveBeenCalled())
  expect(late).not.toHaveBeenCalled()
  leaving.abort()
  await slept
})

test('sleep() without advance() takes its real time, and returns at once after an abort', async () => {
  const clock = createTestClock()
  const before = performance.now()
  await clock.sleep(20)
  expect(performance.now() - before).toBeGreaterThanOrEqual(19)
  await clock.sleep(120_000, AbortSignal.abort())
})
