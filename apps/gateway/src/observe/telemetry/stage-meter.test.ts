import { expect, test } from 'vitest'
import type { MessageStage } from './stage.ts'
import { createStageMeter, stageBounds } from './stage-meter.ts'

const createStage = (ms: number, via = 'a2a'): MessageStage => ({
  name: 'turn',
  via,
  correlationId: 'c',
  describe: () => ({ key: 'k', attributes: {} }),
  startAt: 1_000,
  endAt: 1_000 + ms,
})

test('the meter counts durations in buckets, by stage and channel', () => {
  const meter = createStageMeter()
  for (const ms of [0.5, 1, 1.5, 299_000, 301_000]) meter.count(createStage(ms))
  meter.count(createStage(40, 'email'))
  const [calls, mails] = meter.list()
  expect(calls).toMatchObject({ stage: 'turn', via: 'a2a', sum: expect.closeTo(600.003) })
  expect(calls?.cumulativeCounts).toEqual([2, ...Array(stageBounds.length - 2).fill(3), 4, 5])
  expect(mails?.cumulativeCounts.at(-1)).toBe(1)
})

test('a clock that goes back does not make a duration negative', () => {
  const meter = createStageMeter()
  meter.count(createStage(-5))
  expect(meter.list()[0]).toMatchObject({ sum: 0 })
})
