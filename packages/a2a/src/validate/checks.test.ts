import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { arrayOf, findWrongMembers, integer, must, oneOf, optional, shapeOf, zeroOr } from './checks.ts'
import { anyText, identifier } from './texts.ts'

const item = shapeOf({ id: identifier(4), name: optional(anyText) }).refine(
  ({ name }) => name !== 'x',
  must('be named'),
)
const schema = shapeOf({ items: arrayOf(item, { min: 1, max: 100 }), size: optional(zeroOr([0], integer({ min: 2 }))) })

test.each([
  [{ items: [{ id: 'a', name: null }], size: 0, more: 1 }, []],
  [[], [['', 'must be an object']]],
  [{}, [['items', 'is required']]],
  [{ items: null }, [['items', 'is required']]],
  [{ items: 'x' }, [['items', 'must be an array']]],
  [{ items: [] }, [['items', 'must hold at least 1']]],
  [{ items: Array(101).fill(1) }, [['items', 'must hold at most 100']]],
  [{ items: [null] }, [['items[0]', 'must be an object']]],
  [
    { items: [{ id: '' }, { id: 'a' }, {}] },
    [
      ['items[0].id', 'must not be empty'],
      ['items[2].id', 'is required'],
    ],
  ],
  [
    { items: [{ id: 'a', name: 'x' }], size: 1 },
    [
      ['items[0]', 'must be named'],
      ['size', 'must be an integer from 2 to 2147483647'],
    ],
  ],
])('findWrongMembers() finds the faults of %j', (value, violations) => {
  const faults = findWrongMembers(schema, value).map(({ field, description }) => [field, description])
  expect(faults).toEqual(violations)
})

test('findWrongMembers() returns a bounded number of faults', () => {
  const list = arrayOf(oneOf(['a']), { max: 1_000_000 })
  expect(findWrongMembers(list, Array(1_000_000).fill('b'))).toHaveLength(16)
})

test('findWrongMembers() takes linear time for lists', () => {
  const list = arrayOf(oneOf(['a']), { max: 1_000_000 })
  expect(measureGrowth(text => findWrongMembers(list, text.split('')), 'a', 100_000)).toBeLessThan(30)
})
