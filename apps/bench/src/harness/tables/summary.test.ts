import { expect, test } from 'vitest'
import type { RoundResult } from '../measure.ts'
import type { Contender } from '../rounds.ts'
import { formatReport } from './report.ts'
import { summarizeCase } from './summary.ts'

const entry = new URL('file:///server.ts')
const contender = (name: string, atLeast?: number): Contender => ({
  name,
  note: `about ${name}`,
  entry,
  setup: {},
  ...(atLeast && { aim: { atLeast } }),
})
const round = (cpuMicros: number): RoundResult => ({ cpuMicros, perSecond: 1, p99: 2, rss: 5e6, messages: 10 })

test('summarizeCase() computes each ratio within one round, so that a slow round does not distort it', () => {
  const lines = summarizeCase(
    'Case',
    new Map([
      [contender('ours'), [100, 100, 1000].map(round)],
      [contender('peer', 2), [300, 300, 3000].map(round)],
    ]),
  )
  expect(lines[0]).toMatchObject({ name: 'ours', cpuMicros: 100, messages: 30, rss: 5e6, p99: 2 })
  expect(lines[0]?.ratio).toBeUndefined()
  expect(lines[1]).toMatchObject({
    name: 'peer',
    cpuMicros: 300,
    ratio: 3,
    referenceName: 'ours',
    referenceMicros: 100,
    aim: { atLeast: 2 },
  })
})

test('formatReport() says whether the numbers meet a target', () => {
  const results = new Map([
    [contender('ours'), [round(100)]],
    [contender('a', 2), [round(300)]],
    [contender('b', 2), [round(150)]],
  ])
  const [, referenceLine, a, b] = formatReport(summarizeCase('Case', results)).split('\n')
  expect(referenceLine).toMatch(/^Case +ours +100 +ours +2\.0 +5$/)
  expect(a).toMatch(/^ +a +300 +100 +3\.00× +≥ 2 met +2\.0 +5$/)
  expect(b).toMatch(/^ +b +150 +100 +1\.50× +≥ 2 missed +2\.0 +5$/)
})
