import { expect, test } from 'vitest'
import type { OperatorClient } from '../client/client.ts'
import { printList } from './print-list.ts'

const client = { close: async () => undefined } as OperatorClient

/** Prints a list whose pages read ten numbers each, of which only some match. */
async function printMatches(matches: (number: number) => boolean, maxItems?: number): Promise<string> {
  const lines: string[] = []
  await printList(
    { openClient: async () => client, json: false, print: text => void lines.push(text) },
    {
      maxItems,
      readPage: async (_, { limit, after = 0 }) => ({
        items: Array.from({ length: 10 }, (_, index) => after + index)
          .filter(matches)
          .slice(0, limit),
        next: after + 10 < 200 ? after + 10 : null,
      }),
      format: items => items.join(' '),
    },
  )
  return lines.join('\n')
}

test('a list continues over pages without a match', async () => {
  expect(await printMatches(number => number >= 195)).toBe('195 196 197 198 199')
})

test('a list that stops early says so, and where to continue', async () => {
  expect(await printMatches(() => true, 10)).toBe(
    "0 1 2 3 4 5 6 7 8 9\nThe list goes on after these 10: the operator's API returns the remaining items with after=10.",
  )
})
