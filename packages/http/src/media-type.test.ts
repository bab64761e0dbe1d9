import { expect, test } from 'vitest'
import { acceptsType, parseMediaType } from './request.ts'

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
])('parseMediaType() reads %s', (text, type, parameters) => {
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

test('parseMediaType() reads hostile text in linear time', () => {
  expect(parseMediaType(`a/b; c="${'\\"'.repeat(1_000_000)}`)).toBeUndefined()
  expect(parseMediaType(`a/b${' '.repeat(1_000_000)}x`)).toBeUndefined()
})

const activity = 'application/activity+json'
const profiled = 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'
const html = 'text/html'

test.each([
  ['no header', null, activity],
  ['an empty header', ' ', activity],
  ['anything', '*/*', activity],
  ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', html],
  ['Mastodon', 'application/activity+json, application/ld+json', activity],
  ['a profile', profiled, profiled],
  ['the type without its profile', 'application/ld+json', profiled],
  ['another profile', 'application/ld+json; profile="x"', undefined],
  ['a charset', 'application/activity+json; charset=utf-8', activity],
  ['a range of subtypes', 'text/*', html],
  ['a preference', 'application/activity+json;q=0.2, text/html;q=0.9', html],
  ['an exclusion within a range', 'application/activity+json;q=0, */*;q=0.1', profiled],
  ['only what we do not have', 'image/png', undefined],
  ['a quality out of range', 'text/html;q=2', undefined],
  ['a range nobody can read beside one', 'text;q=1, text/html', html],
  ['a comma in quotes', 'application/ld+json; profile="a,text/html"', undefined],
])('acceptsType() answers %s', (_, header, expected) => {
  expect(acceptsType(header, [activity, profiled, html])).toBe(expected)
})

test('acceptsType() reads hostile text in linear time', () => {
  expect(acceptsType(`"${'\\",'.repeat(500_000)}`, [html])).toBeUndefined()
})
