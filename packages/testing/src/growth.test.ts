import { expect, test } from 'vitest'
import { measureGrowth } from './growth.ts'

function work(steps: number): number {
  let sum = 0
  for (let index = 0; index < steps; index += 1) sum = (sum + index) % 7
  return sum
}

test('the measurement distinguishes linear from quadratic growth', () => {
  expect(measureGrowth(({ length }) => work(length * 500), 'x', 20_000)).toBeLessThan(24)
  expect(measureGrowth(({ length }) => work(length ** 2), 'x', 8_000)).toBeGreaterThan(30)
})

test('work without a measurable duration does not grow', () => {
  expect(measureGrowth(() => undefined, 'x', 8_000)).toBeLessThan(1)
})
