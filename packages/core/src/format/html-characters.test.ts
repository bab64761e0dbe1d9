import { expect, test } from 'vitest'
import { decodeEntities, escapeHtml } from './notations.ts'

test('decodeEntities() decodes the entities that it knows and leaves all others as they are, even names of object members', () => {
  expect(decodeEntities('a &amp; b &#65;&#x42; &unknown; &valueOf; &toString; &#xd800;')).toBe(
    'a & b AB &unknown; &valueOf; &toString; \ufffd',
  )
})

test('escapeHtml() leaves nothing that means something in HTML', () => {
  expect(escapeHtml(`<a href="x">'&'</a>`)).toBe('&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;')
})
