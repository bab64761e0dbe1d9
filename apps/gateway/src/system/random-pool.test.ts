import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createRandomPool } from './random-pool.ts'

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('ids from the pool are unique, also across its refills', () => {
  const readBytes = createRandomPool()
  const ids = Array.from({ length: 2_000 }, () => toHex(readBytes(16)))
  expect(new Set(ids).size).toBe(2_000)
  expect(ids.every(id => /^[0-9a-f]{32}$/.test(id) && !/^0+$/.test(id))).toBe(true)
})

test('the pool hands out each byte only once, and then wipes it', () => {
  const filledPools: Uint8Array[] = []
  const ids: string[] = []
  const readBytes = createRandomPool(count => {
    const bytes = randomBytes(count)
    ids.push(toHex(bytes))
    filledPools.push(bytes)
    return bytes
  })
  const values = Array.from({ length: 128 }, () => readBytes(32))
  expect(values.map(toHex).join('')).toBe(ids.join(''))
  expect(filledPools.map(toHex).join('')).toMatch(/^0+$/)
})

test('the pool generates a large value separately', () => {
  const requestedSizes: number[] = []
  const readBytes = createRandomPool(count => {
    requestedSizes.push(count)
    return randomBytes(count)
  })
  expect(readBytes(4_097).length).toBe(4_097)
  expect(requestedSizes).toEqual([4_097])
})
