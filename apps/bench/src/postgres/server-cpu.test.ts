import { expect, test } from 'vitest'
import { sumCpu } from './server-cpu.ts'

test('sumCpu() counts what each process spent, new ones from their start, ended ones not at all', () => {
  const before = new Map([
    [1, 10],
    [2, 20],
    [3, 30],
  ])
  const after = new Map([
    [1, 15],
    [2, 20],
    [3, Number.NaN],
    [4, 7],
  ])
  expect(sumCpu(before, after)).toBe(12)
})
