import { expect, test } from 'vitest'
import { parseMediaType } from './media-type.ts'

test.each([
  ['application/json', 'application/json', {}],
  [' Application/JSON ; Charset="UTF-8" ', 'application/json', { charset: 'UTF-8' }],
  [
    'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
    'application/ld+json',
    { profile: 'https://www.w3.org/ns/activitystreams' },
  ],
  ['text/html;level=1;;q=0.5;', 'text/html', { level: '1', q: '0.5' }],
  ['text/plain; a="b;c,\\"d\\\\"', 'text/plain', { a: 'b;c,"d\\' }],
  ['text/plain; a=1; A=2', 'text/plain', { a: '1' }],
  ['text/plain; a=""', 'text/plain', { a: '' }],
  ['*/*', '*/*', {}],
])('parseMediaType() parses %s', (text, type, parameters) => {
  const parsed = parseMediaType(text)
  expect(parsed?.type).toBe(type)
  expect(Object.fromEntries(parsed?.parameters ?? [])).toEqual(parameters)
})

test.each([
  null,
  undefined,
  '',
  'json',
  'application/',
  '/json',
  'application/json, text/html',
  'application/json; charset',
  'application/json; charset=',
  'application/json; charset = utf-8',
  'application/json; a="b',
  'application/json x',
  'application/js on',
])('parseMediaType() finds no media type in %j', text => {
  expect(parseMediaType(text)).toBeUndefined()
})

test('parseMediaType() takes linear time for hostile text', () => {
  expect(parseMediaType(`a/b; c="${'\\"'.repeat(1_000_000)}`)).toBeUndefined()
  expect(parseMediaType(`a/b${' '.repeat(1_000_000)}x`)).toBeUndefined()
})
