import { expect, test } from 'vitest'
import { listCoreTypes, normalizeJsonLd } from './json-ld.ts'

const as = 'https://www.w3.org/ns/activitystreams#'

test('normalizeJsonLd() returns a document in the usual form unchanged', () => {
  const note = {
    '@context': ['https://www.w3.org/ns/activitystreams', { toot: 'http://joinmastodon.org/ns#' }],
    id: 'https://peer.example/notes/1',
    type: 'Note',
    to: [`${as}Public`],
    cc: ['https://peer.example/followers'],
    content: '<p>hi</p>',
    contentMap: { id: '<p>hai</p>' },
    tag: [{ type: 'Mention', href: 'https://agents.test/agents/desk' }],
    'toot:votersCount': 3,
  }
  expect(normalizeJsonLd(note)).toBe(note)
})

test.each([
  [['schema:Recipe', 'Article'], 'Article'],
  [['Create', 'ex:Publish'], 'Create'],
  [[`${as}Note`], 'Note'],
  ['as:Note', 'Note'],
  ['http://www.w3.org/ns/activitystreams#Note', 'Note'],
  [['ex:Letter', 'ex:Mail'], 'ex:Letter'],
  ['as:Unheard', 'as:Unheard'],
  ['toot:Emoji', 'toot:Emoji'],
  ['Note', 'Note'],
])('normalizeJsonLd() reads the type %j as %j', (type, expected) => {
  expect(normalizeJsonLd({ type })).toEqual({ type: expected })
})

test('normalizeJsonLd() recognizes keywords, prefixes and complete IRIs as terms', () => {
  const sent = {
    '@id': 'https://peer.example/1',
    '@type': [`${as}Create`],
    [`${as}actor`]: [{ '@id': 'https://peer.example/ann' }],
    'as:object': {
      '@id': 'https://peer.example/2',
      '@type': 'as:Note',
      [`${as}content`]: [{ '@value': '<p>hi</p>', '@language': 'en' }],
      [`${as}published`]: [{ '@type': 'http://www.w3.org/2001/XMLSchema#dateTime', '@value': '2026-01-01T00:00:00Z' }],
      [`${as}to`]: { '@list': [{ '@id': `${as}Public` }] },
    },
    'http://www.w3.org/ns/ldp#inbox': [{ '@id': 'https://peer.example/inbox' }],
  }
  expect(normalizeJsonLd([sent])).toEqual({
    id: 'https://peer.example/1',
    type: 'Create',
    actor: 'https://peer.example/ann',
    object: {
      id: 'https://peer.example/2',
      type: 'Note',
      content: '<p>hi</p>',
      contentMap: { en: '<p>hi</p>' },
      published: '2026-01-01T00:00:00Z',
      to: [`${as}Public`],
    },
    inbox: 'https://peer.example/inbox',
  })
})

test.each([
  [['https://peer.example/1'], 'https://peer.example/1'],
  [[{ id: 'https://peer.example/1' }], 'https://peer.example/1'],
  [{ id: 'https://peer.example/1' }, 'https://peer.example/1'],
  [
    { id: 'https://peer.example/1', type: 'Note' },
    { id: 'https://peer.example/1', type: 'Note' },
  ],
  [
    ['https://peer.example/1', 'https://peer.example/2'],
    ['https://peer.example/1', 'https://peer.example/2'],
  ],
])('normalizeJsonLd() reads the object %j as %j', (object, expected) => {
  expect(normalizeJsonLd({ object })).toEqual({ object: expected })
})

test.each([
  [['<p>hi</p>'], { content: '<p>hi</p>' }],
  [['<p>a</p>', '<p>b</p>'], { content: '<p>a</p>\n<p>b</p>' }],
  [{ '@value': '<p>hi</p>' }, { content: '<p>hi</p>' }],
  [
    [
      { '@value': 'hallo', '@language': 'de' },
      { '@value': 'hello', '@language': 'en' },
    ],
    { content: 'hallo', contentMap: { de: 'hallo', en: 'hello' } },
  ],
])('normalizeJsonLd() reads the content %j as a text', (content, expected) => {
  expect(normalizeJsonLd({ content })).toEqual(expected)
})

test('normalizeJsonLd() keeps an id that is not a string, and language maps with the name of a term', () => {
  const odd = { id: {}, contentMap: { id: 'hai', type: 'x' } }
  expect(normalizeJsonLd(odd)).toBe(odd)
})

test.each([
  { id: 'https://a.test/1', '@id': 'https://b.test/1' },
  { type: 'Note', '@type': 'Note' },
  { content: 'a', 'as:content': 'b' },
  { object: { 'as:to': 'x', [`${as}to`]: 'y' } },
])('normalizeJsonLd() refuses a member that occurs in two forms: %j', sent => {
  expect(() => normalizeJsonLd(sent)).toThrow(/^Cannot read activity: it says "\w+" in two forms$/)
})

test('normalizeJsonLd() adds nothing to the prototype', () => {
  const sent = JSON.parse(
    '{"as:__proto__":{"polluted":1},"__proto__":{"@id":"x"},"as:constructor":"y","type":"as:Note"}',
  )
  const read = normalizeJsonLd(sent) as object
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

test('normalizeJsonLd() refuses a document with more unusual forms than an honest one has', () => {
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`as:m${at}`, 1]))
  expect(() => normalizeJsonLd({ tag: [many] })).toThrow('Cannot read activity: it is in odd forms')
})

test('listCoreTypes() lists each known type once, whatever its form', () => {
  expect(listCoreTypes({ type: ['as:Create', 'Create', 'ex:Publish'] })).toEqual(['Create'])
  expect(listCoreTypes([{ '@type': ['Create', `${as}Delete`] }])).toEqual(['Create', 'Delete'])
  expect(listCoreTypes(null)).toEqual([])
})
