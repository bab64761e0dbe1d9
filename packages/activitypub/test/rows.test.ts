import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { content } from './rows/content.ts'
import { fetching } from './rows/fetching.ts'
import { json } from './rows/json.ts'
import { keys } from './rows/keys.ts'
import { others } from './rows/others.ts'
import { reach } from './rows/reach.ts'
import type { RowCase } from './rows/row.ts'
import { signatures } from './rows/signatures.ts'
import { whoSpeaks } from './rows/who-speaks.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

// The bug history of other servers, row by row: what was sent to them, and what we answer.

const rows = [...whoSpeaks, ...signatures, ...keys, ...fetching, ...json, ...others, ...content, ...reach]

/** How often an agent would be called for what is stored. */
async function countTurns({ stored }: Stage): Promise<number> {
  return (await stored()).filter(({ state }) => state === 'received').length
}

async function playCase({ options, send, expect: expected, after }: RowCase): Promise<void> {
  const stage = await openStage(options)
  try {
    const { status, code, ...answer } = await send(stage)
    const fetches = stage.peer.requests.length
    const turns = await countTurns(stage)
    expect({ status, code, turns, fetches, detail: answer.detail }).toMatchObject(expected)
    await after?.(stage, { status, code, ...answer })
  } finally {
    await stage.close()
  }
}

describe.each(rows)('$row: $title', ({ cases = [], shownBy = [] }) => {
  test.each(cases)('$title', playCase)

  test.each(shownBy)('%s', reference => {
    const [file = '', title = ''] = reference.split(' › ')
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    expect(findTitles(source)).toContain(title)
    expect(source).not.toMatch(/\.(skip|todo|only|skipIf|runIf)\b/)
  })
})

test('every row is there, in its order, and is shown by something', () => {
  expect(rows.map(({ row }) => row)).toEqual(
    Array.from({ length: 67 }, (_, at) => `AP-${String(at + 1).padStart(2, '0')}`),
  )
  expect(rows.filter(({ cases = [], shownBy = [] }) => cases.length + shownBy.length === 0)).toEqual([])
})

/** Titles of tests and of groups of them, as they are written: the first thing in the brackets of `test()`, `test.each()()` and the like. */
function findTitles(source: string): readonly string[] {
  const titles = source.matchAll(/(?:\b(?:test|describe)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)
  return [...titles].map(([, , title = '']) => title)
}
