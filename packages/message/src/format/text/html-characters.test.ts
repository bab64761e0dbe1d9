import { expect, test } from 'vitest'
import { escapeHtml } from './html-characters.ts'

test('escapeHtml() leaves no character with a meaning in HTML', () => {
  expect(escapeHtml(`<a href="x">'&'</a>`)).toBe('&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;')
})
