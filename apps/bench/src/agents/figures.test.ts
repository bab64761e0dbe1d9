import { expect, test } from 'vitest'
import { rows } from '../aims/rows.ts'
import { toAgentFigures } from './figures.ts'

test('toAgentFigures() assigns the figures of 100,000 agents to their targets, and compares calls within each round', () => {
  const figures = toAgentFigures([
    { agents: 10, startedGateways: [{ startMs: 900, cpuMs: 700, rssBytes: 120e6 }], calls: [400, 800] },
    { agents: 100_000, startedGateways: [{ startMs: 4_700, cpuMs: 5_100, rssBytes: 405e6 }], calls: [440, 880] },
  ])
  expect(figures.map(({ name, value, referenceValue, ratio }) => [name, value, referenceValue, ratio])).toEqual([
    ['start, 10 agents', 0.9, undefined, undefined],
    ['memory, 10 agents', 120, undefined, undefined],
    ['cost of a call, 10 agents', 600, undefined, undefined],
    [rows.agentsStart.row, 4.7, 0.9, undefined],
    [rows.agentsMemory.row, 405, 120, undefined],
    [rows.agentsCall.row, 660, 600, 1.1],
  ])
  expect(figures[3]?.note).toContain('5.1 s of CPU time')
})

test('toAgentFigures() has no target for any other number of agents', () => {
  const figures = toAgentFigures([{ agents: 10_000, startedGateways: [], calls: [] }])
  expect(figures.some(({ row }) => row)).toBe(false)
})
