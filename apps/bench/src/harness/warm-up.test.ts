import { expect, test } from 'vitest'
import { splitWarmUp } from './warm-up.ts'

test('splitWarmUp() keeps at most 4,000 requests in memory and loses none', () => {
  expect(splitWarmUp(10_000)).toEqual([4_000, 4_000, 2_000])
  expect(splitWarmUp(4_000)).toEqual([4_000])
  expect(splitWarmUp(40_000)).toHaveLength(10)
  expect(splitWarmUp(1)).toEqual([1])
})
