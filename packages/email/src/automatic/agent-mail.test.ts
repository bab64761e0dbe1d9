import { expect, test } from 'vitest'
import { readAgentMail } from './agent-mail.ts'

type Mail = Parameters<typeof readAgentMail>[0]

const formatHopField = (hop: number, max?: number) =>
  `two; hop=${hop};${max === undefined ? '' : ` max=${max};`} id=${'0'.repeat(32)}; mac=${'f'.repeat(32)}`

/** Returns a proven mail with these hop fields. */
function createMail(values: readonly string[], { isVerified = true, covers = ['from', 'x-postern-hop'] } = {}): Mail {
  const fields = values.map(value => ({ name: 'x-postern-hop', value, start: 0, end: 0 }))
  return {
    header: { fields, bodyStart: 0 },
    authentication: { isVerified, signature: { covers } },
  } as unknown as Mail
}

test('the gateway lowers the chain limit of an agent’s mail to its own (MN-8.3)', () => {
  expect(readAgentMail(createMail([formatHopField(2, 9)]), 5)).toEqual({
    chain: { hop: 2, max_hops: 5, is_final: false },
  })
  expect(readAgentMail(createMail([formatHopField(2, 3)]), 5)).toEqual({
    chain: { hop: 2, max_hops: 3, is_final: false },
  })
  expect(readAgentMail(createMail([formatHopField(3, 3)]), 5)).toEqual({
    chain: { hop: 3, max_hops: 3, is_final: true },
  })
  // Older gateways do not state the maximum length of a chain.
  expect(readAgentMail(createMail([formatHopField(4)]), 5)).toEqual({ chain: { hop: 4, max_hops: 5, is_final: false } })
})

test('the gateway recognizes a chain that is too long', () => {
  expect(readAgentMail(createMail([formatHopField(6, 9)]), 5)).toEqual({ chain: undefined })
  expect(readAgentMail(createMail([formatHopField(4, 3)]), 5)).toEqual({ chain: undefined })
})

test.each([
  ['whose author is not proven', createMail([formatHopField(1, 5)], { isVerified: false })],
  ['whose field no signature covers', createMail([formatHopField(1, 5)], { covers: ['from'] })],
  ['with two hop fields', createMail([formatHopField(1, 5), formatHopField(1, 5)])],
  ['with a malformed hop field', createMail(['two; hop=1'])],
  ['with the hop 0', createMail([formatHopField(0, 5)])],
  ['without a hop field', createMail([])],
])('the gateway does not treat mail %s as an agent’s', (_what, mailFields) => {
  expect(readAgentMail(mailFields, 5)).toBeUndefined()
})
