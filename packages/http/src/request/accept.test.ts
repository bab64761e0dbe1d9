import { expect, test } from 'vitest'
import { selectMediaType } from './accept.ts'

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
  expect(selectMediaType(header, [activity, profiled, html])).toBe(expected)
})

test('acceptsType() takes linear time for hostile text', () => {
  expect(selectMediaType(`"${'\\",'.repeat(500_000)}`, [html])).toBeUndefined()
})
