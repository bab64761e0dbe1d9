import { expect, test } from 'vitest'
import { createArgumentCheck } from './tools.ts'

const amount = { properties: { amount: { type: 'number' } }, required: ['amount'] }

test.each([
  [{ amount: '1' }, 'amount: Invalid input: expected number, received string'],
  [{}, 'amount: Invalid input: expected number, received undefined'],
  ['all', 'arguments: Invalid input: expected object, received string'],
  [[1], 'arguments: Invalid input: expected object, received array'],
  [{ amount: 1 }, undefined],
])('createArgumentCheck() treats a schema without a type as an object’s: %j', (args, fault) => {
  expect(createArgumentCheck(amount)(args)).toBe(fault)
})

test('createArgumentCheck() refuses members called __proto__ at any depth, for every schema', () => {
  const find = createArgumentCheck({ type: 'object' })
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}{"__proto__":1}${'}'.repeat(5_000)}`)
  for (const args of [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"a":[{"__proto__":null}]}'), deep]) {
    expect(find(args)).toBe('__proto__: no argument may have this name')
  }
  expect(find({ proto: 1, constructor: 2 })).toBeUndefined()
})
