import { expect, test } from 'vitest'
import { createArgumentCheck } from '../tools/tools.ts'
import { relaxSchema } from './relax-schema.ts'

/** Takes time that doubles with each character of an input that it does not match. */
const slow = '^(?:a+)+$'
const hostile = `${'a'.repeat(40)}!`
const text = { type: 'string', pattern: slow }

test.each<[where: string, schema: object, args: object]>([
  ['a property', { properties: { x: text } }, { x: hostile }],
  ['an item', { properties: { x: { type: 'array', items: text } } }, { x: [hostile] }],
  ['a tuple', { properties: { x: { type: 'array', prefixItems: [text] } } }, { x: [hostile] }],
  ['one of several', { properties: { x: { oneOf: [text, { type: 'string' }] } } }, { x: hostile }],
  ['any of several', { properties: { x: { anyOf: [text, { type: 'number' }] } } }, { x: hostile }],
  ['all of several', { properties: { x: { allOf: [text, { type: 'string' }] } } }, { x: hostile }],
  ['a definition', { $defs: { t: text }, properties: { x: { $ref: '#/$defs/t' } } }, { x: hostile }],
  ['a name', { propertyNames: text, properties: {} }, { [hostile]: 1 }],
  ['names', { patternProperties: { [slow]: { type: 'string' } }, additionalProperties: false }, { [hostile]: 'x' }],
  ['other members', { additionalProperties: text }, { x: hostile }],
])('a foreign pattern for %s does not execute, and its arguments pass', (_where, schema, args) => {
  const findFault = createArgumentCheck(relaxSchema(schema as { readonly [keyword: string]: unknown }))
  expect(findFault(args)).toBeUndefined()
})

test('the check keeps the rules beside a pattern', () => {
  const schema = { properties: { x: text, n: { type: 'integer', maximum: 3 } }, required: ['n'] }
  const findFault = createArgumentCheck(relaxSchema(schema))
  expect(findFault({ x: hostile, n: 4 })).toMatch(/^n: /)
  expect(findFault({ x: hostile })).toMatch(/^n: /)
  expect(findFault({ x: 1, n: 3 })).toMatch(/^x: /)
})

test('a schema without patterns stays unchanged, also with a property of that name', () => {
  const schema = { properties: { a: { type: 'string' } }, not: { required: ['b'] } }
  expect(relaxSchema(schema)).toBe(schema)
  const closedSchema = { properties: { pattern: { type: 'string' }, n: { type: 'integer' } }, required: ['pattern'] }
  expect(relaxSchema(closedSchema)).toEqual(closedSchema)
})
