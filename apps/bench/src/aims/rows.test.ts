import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formatBound } from './bound.ts'
import type { Aim } from './rows.ts'
import { rows } from './rows.ts'

const page = readFileSync(new URL('../../../../docs/explanation/performance.md', import.meta.url), 'utf8')
const documented = new Map(
  [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, metric, , aim]) => [metric, aim]),
)

test.each(Object.values<Aim>(rows))(
  'the page on performance has the row "$row" with the same target as the bench',
  ({ row, aim }) => {
    expect(documented.get(row)).toBe(aim ? formatBound(aim) : 'none')
  },
)
