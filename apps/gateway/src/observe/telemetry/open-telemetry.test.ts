import { expect, test } from 'vitest'
import { deriveSpanId, deriveTraceId, formatTraceparent, parseTraceparent } from './open-telemetry.ts'

test('the trace id and the span ids of a message derive from its id alone', () => {
  expect(deriveTraceId('0123456789abcdef')).toMatch(/^[0-9a-f]{32}$/)
  expect(deriveTraceId('0123456789abcdef')).toBe(deriveTraceId('0123456789abcdef'))
  expect(deriveTraceId('0123456789abcdee')).not.toBe(deriveTraceId('0123456789abcdef'))
  expect(deriveSpanId('0123456789abcdef', 'turn 1 1')).toMatch(/^[0-9a-f]{16}$/)
  expect(deriveSpanId('0123456789abcdef', 'turn 1 1')).not.toBe(deriveSpanId('0123456789abcdef', 'turn 1 2'))
})

test('parseTraceparent() returns the identity that formatTraceparent() formatted', () => {
  const parent = { traceId: deriveTraceId('a'), spanId: deriveSpanId('a', 'b'), isSampled: true }
  expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent)
  expect(parseTraceparent(formatTraceparent({ ...parent, isSampled: false }))).toEqual({ ...parent, isSampled: false })
})

test.each([
  '',
  '00',
  `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
  `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
  `00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`,
  `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`,
])('parseTraceparent() rejects %j', text => {
  expect(parseTraceparent(text)).toBeUndefined()
})
