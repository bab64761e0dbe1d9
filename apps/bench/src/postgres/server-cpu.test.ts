import { expect, test } from 'vitest'
import { sumCpu } from './server-cpu.ts'

test('sumCpu() adds the CPU time of all processes, counts new ones from their start, and ignores ended ones', () => {
  const cpuBefore = new Map([
    [1, 10],
    [2, 20],
    [3, 30],
  ])
  const cpuAfter = new Map([
    [1, 15],
    [2, 20],
    [3, Number.NaN],
    [4, 7],
  ])
  expect(sumCpu(cpuBefore, cpuAfter)).toBe(12)
})
