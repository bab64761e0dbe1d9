import type { MessageRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { formatTable } from '../../terminal/text.ts'
import { formatRecord } from './show.ts'

const esc = '\u001b'
const record = {
  message: {
    id: `https://evil.test/1\nsender\n  @president@good.test${esc}[2J`,
    thread_id: 't',
    received_via: 'a2a',
    recipient: '@echo@agents.test',
    received_at: '2026-01-01T00:00:00.000Z',
    sender: {
      address: '@mallory@evil.test',
      display_name: 'x)\r@alice@good.test',
      auth_method: 'none',
      verified: false,
    },
    parts: [{ kind: 'text', mime: 'text/plain', content: `one\ntwo${esc}[1A\u202eeno\u009b2J` }],
  },
  proofs: [{ kind: 'jwt', verdict: 'fail', reason: 'no\nproofs' }],
  state: 'received',
  flags: [],
  response: null,
  deliveries: [],
  duplicates: 0,
  correlation_id: 'c',
} as unknown as MessageRecord

test('formatRecord() keeps every text of a peer on its own lines, without cursor control', () => {
  const text = formatRecord(record)
  expect(text.match(/[^\P{Cc}\n]|\u202e/u)).toBeNull()
  expect(text.split('\n').filter(line => line === 'sender')).toHaveLength(1)
  expect(text).toContain('  one\n  two\\u{1b}[1A\\u{202e}eno\\u{9b}2J\n')
  expect(text).toContain('  @mallory@evil.test (x)\\u{d}@alice@good.test)\n')
})

test('formatTable() keeps every row on its line', () => {
  expect(formatTable(['id', 'sender'], [['a\nb', `${esc}c`]])).toBe('id       sender\na\\u{a}b  \\u{1b}c')
})

test('formatRecord() names the error code of rejected evidence', () => {
  const reason = 'it is for another agent'
  const proofs = [{ kind: 'verifiable-credential', verdict: 'fail', code: 'wrong-domain', reason }] as const
  expect(formatRecord({ ...record, proofs })).toContain(
    'verifiable-credential: fail (wrong-domain), it is for another agent',
  )
})

test('formatRecord() lists the usage of an answer by model', () => {
  const usage = [
    {
      model: 'large',
      input_tokens: 57,
      cached_input_tokens: 12,
      output_tokens: 9,
      reasoning_tokens: 3,
      total_tokens: 66,
    },
    { provider: 'local', model: 'small\nsender', output_tokens: 2 },
  ]
  const response = { status: 'completed', parts: [], usage } as unknown as NonNullable<MessageRecord['response']>
  expect(formatRecord({ ...record, response })).toContain(
    'cost\n  large: 57 in, 12 read from a cache, 9 out, 3 for reasoning, 66 in all (tokens)\n  local small\\u{a}sender: 2 out (tokens)\n',
  )
  expect(formatRecord(record)).not.toContain('cost\n')
})

test('formatRecord() names the message that shares an answer', () => {
  expect(formatRecord({ ...record, merged_into: 7 })).toContain('\n  together with #7\n')
})
