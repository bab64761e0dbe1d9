import { expect, test } from 'vitest'
import { z } from 'zod'
import { partialResponseSchema } from '../../message/response.ts'
import { describeFaults, parseInput } from './describe-faults.ts'

const file = (bytes_ref: object) => ({ parts: [{ kind: 'file', bytes_ref }] })
const long = 'not base64 '.repeat(10)

test.each<[string, unknown, string]>([
  [
    'bytes that are no base64',
    file({ kind: 'inline', data_base64: '$$$' }),
    '"parts.0.bytes_ref.data_base64" ("$$$") must be base64',
  ],
  [
    'a long value, of which it quotes the beginning',
    file({ kind: 'inline', data_base64: long }),
    `"parts.0.bytes_ref.data_base64" ("${long.slice(0, 40)}…" (110 characters)) must be base64`,
  ],
  [
    'an address that is none',
    file({ kind: 'url', url: 'desk' }),
    '"parts.0.bytes_ref.url" ("desk") must be an address (URL)',
  ],
  ['a missing member of a known kind', { parts: [{ kind: 'text' }] }, '"parts.0.content" is missing'],
  [
    'a part without its kind',
    { parts: [{ content: 'x' }] },
    '"parts.0.kind" must be one of text, file, link, artifact, tool_call, policy',
  ],
  [
    'another type',
    { parts: 'x', status: 7 },
    '"parts" ("x") must be a list; "status" (7) must be one of completed, input_required, auth_required, rejected, failed, working',
  ],
  ['a value that is no object', 7, 'it (7) must be an object'],
])('a fault names the member, its value and the rule: %s', (_, value, words) => {
  const { error } = partialResponseSchema.safeParse(value)
  expect(error && describeFaults(error, value)).toBe(words)
})

test('a message names at most three faults', () => {
  const { error } = partialResponseSchema.safeParse({ parts: Array(5).fill({ kind: 'text' }) })
  expect(error && describeFaults(error, {}).split('; ')).toHaveLength(3)
})

test('a fault with a message in the schema keeps that message', () => {
  const even = z.object({ count: z.number().refine(count => count % 2 === 0, 'is odd') })
  expect(() => parseInput(even, { count: 3 }, 'the answer')).toThrow(
    new Error('Cannot read the answer: "count" (3) is odd'),
  )
  expect(parseInput(even, { count: 4 }, 'the answer')).toEqual({ count: 4 })
})
