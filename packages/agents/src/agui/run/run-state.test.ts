import { expect, test } from 'vitest'
import { RunState } from './run-state.ts'

test('a state applies a patch without changing its earlier copy', () => {
  const kept = { cart: ['cake'], note: 'x', old: { a: 1 } }
  const state = new RunState(kept)
  state.patch([
    { op: 'test', path: '/cart', value: ['cake'] },
    { op: 'add', path: '/cart/-', value: 'tea' },
    { op: 'replace', path: '/note', value: null },
    { op: 'copy', from: '/cart', path: '/second' },
    { op: 'move', from: '/old', path: '/new' },
    { op: 'remove', path: '/second/0' },
  ])
  expect(state.value).toEqual({ cart: ['cake', 'tea'], note: null, second: ['tea'], new: { a: 1 } })
  expect(kept).toEqual({ cart: ['cake'], note: 'x', old: { a: 1 } })
})

test.each<[what: string, path: (index: number) => string, from: string]>([
  ['its root', index => `/copy${index}`, ''],
  ['a list', () => '/list/-', '/list'],
])('a state that doubles by copies of %s stops at its limit', (_what, path, from) => {
  const state = new RunState({ list: ['x'.repeat(50)] })
  // The event of 1 KB with these operations made a state of gigabytes.
  const copies = Array.from({ length: 40 }, (_, index) => ({ op: 'copy', from, path: path(index) }))
  expect(() => state.patch(copies)).toThrow(/^The state of the AG-UI server has more than 2097152 bytes$/)
  expect(JSON.stringify(state.value).length).toBeLessThan(2 * 1024 * 1024)
})

test.each([
  [{ op: 'replace', path: '/list/length', value: 60_000_000 }],
  [{ op: 'add', path: '/list/length', value: 60_000_000 }],
  [{ op: 'copy', from: '/list/length', path: '/size' }],
  [{ op: 'add', path: '/list/01', value: 1 }],
])('a state refuses to change anything of a list but its elements: %j', operation => {
  const state = new RunState({ list: [1] })
  expect(() => state.patch([operation])).toThrow(/^Cannot apply the state delta of the AG-UI server: MissingError$/)
  expect(state.value).toEqual({ list: [1] })
})

test('a state that doubles in a list stops at its limit, also with many deltas', () => {
  const state = new RunState({ list: ['x'.repeat(50)] })
  expect(() => {
    for (;;) {
      state.patch([
        { op: 'copy', from: '/list', path: '/copy' },
        { op: 'add', path: '/list/-', value: 1 },
        { op: 'move', from: '/copy', path: '/list/-' },
      ])
    }
  }).toThrow(/has more than|is deeper than/)
})

test('a state stops at a limit when copies come and go repeatedly', () => {
  const state = new RunState({ a: 'x'.repeat(512 * 1024) })
  const twice = [
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'remove', path: '/b' },
  ]
  expect(() => {
    for (;;) state.patch(twice)
  }).toThrow(/writes more than \d+ bytes into the state of one run/)
})

test('a state keeps its size when its members change for ever', () => {
  const state = new RunState({ a: 'x'.repeat(1024 * 1024) })
  for (let count = 0; count < 5_000; count += 1) {
    state.patch([
      { op: 'replace', path: '/a', value: `${count}` },
      { op: 'add', path: '/b', value: 'y'.repeat(1000) },
    ])
  }
  expect(state.value).toEqual({ a: '4999', b: 'y'.repeat(1000) })
})

test.each([
  ['delta', [Array(1_001).fill({ op: 'test', path: '/a', value: 1 })]],
  ['run', Array(21).fill(Array(1_000).fill({ op: 'test', path: '/a', value: 1 }))],
])('a state refuses more operations than a %s may have', (_what, deltas) => {
  const state = new RunState({ a: 1 })
  expect(() => {
    for (const delta of deltas) state.patch(delta)
  }).toThrow(/more than 1000 operations, or 20000 in the run/)
})

test('a state refuses a snapshot that is too large or too deep', () => {
  const deep = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`)
  const state = new RunState(undefined)
  expect(() => state.replace({ a: 'x'.repeat(3 * 1024 * 1024) })).toThrow(/has more than/)
  expect(() => state.replace({ deep })).toThrow(/is deeper than/)
})
