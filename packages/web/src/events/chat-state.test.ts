import { expect, test } from 'vitest'
import { diffState } from './chat-state.ts'

test('diffState() lists added, changed and removed members (RFC 6902) and escapes their names (RFC 6901)', () => {
  const before = { activeAgent: 'a', stack: ['a'], 'old/na~me': 1 }
  expect(diffState(before, { activeAgent: 'b', stack: ['a'], more: null })).toEqual([
    { op: 'remove', path: '/old~1na~0me' },
    { op: 'replace', path: '/activeAgent', value: 'b' },
    { op: 'add', path: '/more', value: null },
  ])
  expect(diffState(before, { ...before })).toEqual([])
})
