import { measureGrowth } from '@postern/testing/growth'
import { describe, expect, test } from 'vitest'
import { createCondition } from './condition.ts'

const ofAmount = (amount: unknown, overrides: object = { required: ['amount'] }) => ({
  properties: { amount },
  ...overrides,
})
const some = { type: 'string' }

describe('createCondition()', () => {
  test.each([
    [ofAmount({ type: 'number', minimum: 100 }), [100, 1e300], [99, '100', null, undefined]],
    [ofAmount({ type: ['number', 'null'], exclusiveMaximum: 0 }), [-1, null], [0, undefined]],
    [ofAmount({ const: 'all' }), ['all'], ['some', undefined]],
    [ofAmount({ type: 'string', enum: ['a', 'b'] }), ['a', 'b'], ['c']],
    [ofAmount({}), [null, 0, {}], [undefined]],
    [ofAmount(true, {}), [1, undefined], []],
    [
      ofAmount({ anyOf: [{ const: 1 }, { type: 'string', pattern: '@(a|b)\\.example$' }] }),
      [1, 'x@b.example'],
      [2, 'x@c.example'],
    ],
    [
      ofAmount({ type: 'string', pattern: '^[^/@]+@(a|b)\\.example$' }),
      ['x@a.example'],
      ['x/@a.example', '@a.example'],
    ],
    [ofAmount({ type: 'array', contains: { const: 'x' } }), [['y', 'x']], [['y'], []]],
    [ofAmount({ type: 'object', properties: { in: { const: 1 } }, required: ['in'] }), [{ in: 1 }], [{}, { in: 2 }, 1]],
    [ofAmount({}, { allOf: [{ type: 'object', minProperties: 1 }], title: 'Any' }), [1], [undefined]],
  ])('evaluates %j as JSON Schema does', (when, met, unmet) => {
    const isMet = createCondition(when)
    const toArgs = (amount: unknown) => (amount === undefined ? {} : { amount })
    expect(met.map(amount => isMet(toArgs(amount)))).toEqual(met.map(() => true))
    expect(unmet.map(amount => isMet(toArgs(amount)))).toEqual(unmet.map(() => false))
  })

  test.each([
    [{ type: 'string' }, '"type" must be "object", as arguments are'],
    [ofAmount({ minimum: 1 }), '"minimum" needs "type": "number" beside it'],
    [ofAmount({ type: 'number', minimum: '1' }), '"minimum" has a value of another kind than JSON Schema gives it'],
    [ofAmount({ type: 'integer' }), '"integer" misses large numbers: write "number"'],
    [ofAmount({ type: 'decimal' }), 'there is no type "decimal"'],
    [ofAmount({ type: 'string', format: 'email' }), '"format" cannot be checked'],
    [ofAmount({ not: { const: 1 } }), '"not" cannot be checked'],
    [ofAmount({ properties: {} }), '"properties" needs "type": "object" beside it'],
    [ofAmount({ enum: ['a'], minLength: 1 }), '"minLength" does not count beside "enum" or "const"'],
    [ofAmount({ const: {} }), '"enum" and "const" take no objects or lists'],
    [ofAmount({ anyOf: [{}], allOf: [{}] }), '"anyOf" and "allOf" need a "type" beside'],
    [ofAmount(3), 'a schema must be an object, "true" or "false"'],
    [{ required: ['amount'] }, '"properties" has no "amount", which "required" names'],
    [{ propertees: {} }, '"propertees" cannot be checked'],
    [{ anyOf: [ofAmount(some)] }, '"properties" needs "type": "object" beside it'],
    [{ $ref: '#/$defs/a', $defs: { a: {} } }, '"$ref" cannot be checked'],
  ])('refuses %j, which has an unsupported part', (when, problem) => {
    expect(() => createCondition(when)).toThrow(problem)
  })

  test.each(['^(a+)+$', 'a+b', '^a*a*$', '^(a|b*)$', '^(.*)\\1$', '^a{1,9}b+', '^a|b+', '(?=.*a)b'])(
    'refuses the pattern %s, which may be slow',
    pattern => {
      expect(() => createCondition(ofAmount({ type: 'string', pattern }))).toThrow('may repeat one thing at most')
    },
  )

  test.each(['^[^/@]*@(a|b)\\.example$', 'aa?a?b$', '^a.*bc$'])('takes linear time for %s', pattern => {
    const isMet = createCondition(ofAmount({ type: 'string', pattern }))
    expect(measureGrowth(text => isMet({ amount: text }), 'a', 400_000)).toBeLessThan(30)
  })
})
