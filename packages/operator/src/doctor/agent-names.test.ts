import { expect, test } from 'vitest'
import { digestAgentNames, formatAgentNames } from './agent-names.ts'

const names = Array.from({ length: 10_000 }, (_, index) => `agent${index}`)

test('formatAgentNames() lists few names, and counts the rest of very many', () => {
  expect(formatAgentNames(['desk', 'echo'])).toBe('desk, echo')
  expect(formatAgentNames(names)).toMatch(/^agent0, .*, agent49 and 9950 more$/)
})

test('digestAgentNames() depends on the names, and not on their order', () => {
  expect(digestAgentNames(names.toReversed())).toBe(digestAgentNames(names))
  expect(digestAgentNames(names.slice(1))).not.toBe(digestAgentNames(names))
})
