import { expect, test } from 'vitest'
import { makeId } from './ids.ts'

test('ids sort by their creation time, and end with 80 random bits', () => {
  const makeIdAt = (now: number, randomByte: number) =>
    makeId({ now: () => now, randomBytes: count => new Uint8Array(count).fill(randomByte) })
  const ids = [
    makeIdAt(0, 255),
    makeIdAt(1, 0),
    makeIdAt(1_795_255_200_000.5, 0),
    makeIdAt(1_795_255_200_001, 0),
    makeIdAt(2 ** 47, 0),
  ]
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.every(id => /^[0-9a-f]{32}$/.test(id))).toBe(true)
  expect(makeIdAt(1, 171)).toBe(`000000000001${'ab'.repeat(10)}`)
})
