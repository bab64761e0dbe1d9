import { expect, test, vi } from 'vitest'
import { createTestClock } from './test-clock.ts'

test('advance() moves the clock forward and wakes only the sleepers whose time has passed', async () => {
  const clock = createTestClock()
  const [early, late] = [vi.fn(), vi.fn()]
  const abortController = new AbortController()
  void clock.sleep(60_000).then(early)
  const pendingSleep = clock.sleep(120_000, abortController.signal).then(late)
  const startedAt = clock.now()
  clock.advance(90_000)
  expect(clock.now() - startedAt).toBeGreaterThanOrEqual(90_000)
  await vi.waitFor(() => expect(early).toHaveBeenCalled())
  expect(late).not.toHaveBeenCalled()
  abortController.abort()
  await pendingSleep
})

test('sleep() without advance() takes its real time, and returns at once after an abort', async () => {
  const clock = createTestClock()
  const startedAt = performance.now()
  await clock.sleep(20)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(19)
  await clock.sleep(120_000, AbortSignal.abort())
})
