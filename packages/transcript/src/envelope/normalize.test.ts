import { expect, test } from 'vitest'
import { normalizeEnvelope } from './normalize.ts'

test('normalizeEnvelope() keeps members of any name, and never changes its argument', () => {
  const metadata = JSON.parse('{"__proto__":{"a":1},"constructor":2,"inner":{"b":3}}') as Record<string, unknown>
  const row = { role: 'user', content: 'x', metadata }
  const read = normalizeEnvelope(row)
  const text = JSON.stringify(metadata)
  expect(JSON.stringify(read.metadata)).toBe(text)
  Object.assign(metadata, { constructor: 'changed' })
  Object.assign(metadata.inner as object, { b: 'changed' })
  expect(JSON.stringify(read.metadata)).toBe(text)
})

test('normalizeEnvelope() reads a list as a map of its indexes, and an empty list as the empty map', () => {
  expect(normalizeEnvelope({ role: 'user', content: 'x', metadata: ['a', 'b'] }).metadata).toEqual({ 0: 'a', 1: 'b' })
  expect(normalizeEnvelope({ role: 'user', content: 'x', metadata: [] }).metadata).toEqual({})
  expect(normalizeEnvelope({ role: 'user', content: 'x', metadata: 'text' }).metadata).toEqual({})
})
