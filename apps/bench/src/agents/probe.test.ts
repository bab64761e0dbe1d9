import { expect, test } from 'vitest'
import { pickAgent } from './probe.ts'

test('pickAgent() cycles through few agents and spreads over a long list', () => {
  expect([0, 1, 9, 10, 11].map(call => pickAgent(call, 10))).toEqual([0, 1, 9, 0, 1])
  expect([0, 1, 999, 1_000].map(call => pickAgent(call, 100_000))).toEqual([0, 100, 99_900, 0])
})
