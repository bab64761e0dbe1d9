import { expect, test } from 'vitest'
import { readAgentMail } from './agent-mail.ts'

type Mail = Parameters<typeof readAgentMail>[0]

const field = (hop: number, max?: number) =>
  `two; hop=${hop};${max === undefined ? '' : ` max=${max};`} id=${'0'.repeat(32)}; mac=${'f'.repeat(32)}`

/** Returns a proven mail with these hop fields. */
function mail(values: readonly string[], { isVerified = true, covers = ['from', 'x-postern-hop'] } = {}): Mail {
  const fields = values.map(value => ({ name: 'x-postern-hop', value, start: 0, end: 0 }))
  return {
    header: { fields, bodyStart: 0 },
    authentication: { isVerified, signature: { covers } },
  } as unknown as Mail
}

test('the gateway lowers the chain limit of an agent’s mail to its own (MN-8.3)', () => {
  expect(readAgentMail(mail([field(2, 9)]), 5)).toEqual({ chain: { hop: 2, max_hops: 5, is_final: false } })
  expect(readAgentMail(mail([field(2, 3)]), 5)).toEqual({ chain: { hop: 2, max_hops: 3, is_final: false } })
  expect(readAgentMail(mail([field(3, 3)]), 5)).toEqual({ chain: { hop: 3, max_hops: 3, is_final: true } })
  // Older gateways do not state the maximum length of a chain.
  expect(readAgentMail(mail([field(4)]), 5)).toEqual({ chain: { hop: 4, max_hops: 5, is_final: false } })
})

test('the gateway recognizes a chain that has become too long', () => {
  expect(readAgentMail(mail([field(6, 9)]), 5)).toEqual({ chain: undefined })
  expect(readAgentMail(mail([field(4, 3)]), 5)).toEqual({ chain: undefined })
})

test.each([
  ['whose author is not proven', mail([field(1, 5)], { isVerified: false })],
  ['whose field no signature covers: anybody may have put it there', mail([field(1, 5)], { covers: ['from'] })],
  ['with two of them', mail([field(1, 5), field(1, 5)])],
  ['with one that is not well formed', mail(['two; hop=1'])],
  ['that never had an agent', mail([field(0, 5)])],
  ['without the field', mail([])],
])('the gateway does not treat mail %s as an agent’s', (_what, mailFields) => {
  expect(readAgentMail(mailFields, 5)).toBeUndefined()
})
