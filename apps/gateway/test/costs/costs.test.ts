import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ceiling, Company } from './ceilings.ts'
import { ceilings, findCostFaults } from './ceilings.ts'
import type { CountedProcess } from './counted-process.ts'
import { openCountedProcess } from './counted-process.ts'
import type { PathCosts } from './measure-paths.ts'
import { measurePathCosts, selectKind } from './measure-paths.ts'

describe('the cost of a message on SQLite', () => {
  let gateway: CountedProcess
  let costs: Readonly<Record<Company, PathCosts>>

  beforeAll(async () => {
    gateway = await openCountedProcess()
    costs = await measurePathCosts(gateway)
  }, 300_000)
  afterAll(() => gateway.close())

  test.each(ceilings.filter(({ kind }) => kind !== 'rounds'))(
    '$kind stay below their ceilings when messages come $company, and no ceiling is higher than necessary',
    ceiling => {
      expect(findCostFaults(ceiling, selectKind(costs[ceiling.company], ceiling.kind))).toEqual([])
    },
  )
})

describe('a cost ceiling', () => {
  const ceiling: Ceiling = {
    company: 'alone',
    kind: 'statements',
    ceilings: { activitypub: 10, a2a: 10, email: 10, web: 10, delivery: 10 },
    floor: 0.85,
  }

  test('reports a path above it, one far below it, and one without a measurement', () => {
    const measuredCosts = { activitypub: 10.1, a2a: 8.4, email: Number.NaN, web: 10, delivery: 8.6 }
    expect(findCostFaults(ceiling, measuredCosts)).toEqual([
      'activitypub, alone: 10.10 statements a message, and the ceiling is 10. Make it cheaper, or say why it costs more.',
      'a2a, alone: 8.40 statements a message, far below the ceiling 10. Lower the ceiling in ceilings.ts.',
      'email, alone: NaN statements a message, and the ceiling is 10. Make it cheaper, or say why it costs more.',
    ])
  })
})
