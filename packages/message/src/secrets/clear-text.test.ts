import { expect, test } from 'vitest'
import { leavesInClearText } from './clear-text.ts'

test.each([
  ['http://agents.example', true],
  ['http://127.0.0.1.agents.example:8787', true],
  ['http://10.0.0.1', true],
  ['https://agents.example', false],
  ['http://localhost:8787', false],
  ['http://127.0.0.1:8787', false],
  ['http://[::1]:8787', false],
])('a request to %s leaves this machine without encryption: %j', (url, leaves) => {
  expect(leavesInClearText(new URL(url))).toBe(leaves)
})
