import { expect, test } from 'vitest'
import { createHints, noticesOf } from './hints.ts'

const notice = (length: number) => ({ topic: 'message:1', payload: { kind: 'part', chunk: 'ä\0🦆'.repeat(length) } })

test('what one writes another reads, whole, in payloads that PostgreSQL takes', () => {
  const [here, there] = [createHints('a'), createHints('b')]
  const told = notice(5_000)
  const payloads = here.write([told, { topic: 'work', payload: undefined }])
  expect(Math.max(...payloads.map(payload => Buffer.byteLength(payload)))).toBeLessThan(8_000)
  const heard = payloads.map(payload => there.read(payload)).filter(each => each !== undefined)
  expect(heard).toEqual([told, { topic: 'work', payload: null }])
})

test('nobody hears their own hints', () => {
  const hints = createHints('a')
  expect(hints.write([notice(1)]).map(payload => hints.read(payload))).toEqual([undefined])
})

test('what is too long or no JSON is not told, and what is broken not heard', () => {
  const hints = createHints('a')
  expect(hints.write([{ topic: 'a', payload: 1n }])).toEqual([])
  expect(hints.write([notice(100_000)])).toEqual([])
  expect(['', 'x', 'b 1 0 1 [', 'b 2 0 1 [7]', 'b 3 0 2 []'].map(payload => hints.read(payload))).toEqual(
    Array.from({ length: 5 }, () => undefined),
  )
})

test('what is begun and never ended makes room for others', () => {
  const [here, there] = [createHints('a'), createHints('b')]
  const [first, ...rest] = here.write([notice(5_000)])
  there.read(first ?? '')
  for (let at = 0; at < 200; at += 1) there.read(here.write([notice(5_000)])[0] ?? '')
  expect(rest.map(payload => there.read(payload)).filter(Boolean)).toEqual([])
})

test('of the end of a turn others are told without what its listeners can look up', () => {
  const notices = [{ topic: 'message:1', payload: { kind: 'settled', task: { id: 't' } } }]
  expect(noticesOf({ notices, readyWork: new Set(['turns']), changes: new Map([['turn', new Set([1])]]) })).toEqual([
    { topic: 'message:1', payload: { kind: 'settled' } },
    { topic: 'work', payload: ['turns'] },
    { topic: 'changes', payload: { turn: [1] } },
  ])
})
