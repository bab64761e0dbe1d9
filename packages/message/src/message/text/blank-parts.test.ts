import { expect, test } from 'vitest'
import type { Part, TextPart } from '../part.ts'
import { showNothing } from './blank-parts.ts'

const text = (content: string, mime: TextPart['mime'] = 'text/markdown'): Part => ({ kind: 'text', mime, content })

test.each<[string, readonly Part[]]>([
  ['no part', []],
  ['an empty text', [text('')]],
  ['white space', [text(' \n\t '), text('\u3000\r\n', 'text/plain')]],
  ['characters that nobody sees', [text('\u200b\u2060\ufeff\u00ad\u3164\u2800\u{e0020}', 'text/plain')]],
  ['entities of spaces', [text(' &nbsp; &#160;')]],
  ['references to characters that nobody sees', [text('&#8203;&ZeroWidthSpace;&#x2060;&NoBreak;')]],
  ['such references in HTML', [text('<p>&#8203;&ZeroWidthSpace;</p>', 'text/html')]],
  [
    'styles, scripts and comments',
    [text('<style>p { color: red }</style><!-- Hello --><script>x()</script>', 'text/html')],
  ],
  ['elements without content', [text('<p> <br></p>\n<div>&nbsp;</div>', 'text/html')]],
])('isBlank() finds no visible text in %s', (_what, parts) => {
  expect(showNothing(parts)).toBe(true)
})

test.each<[string, readonly Part[]]>([
  ['a full stop', [text(' '), text('.')]],
  ['an emoji', [text('👋🏽')]],
  ['a tag in plain text', [text('<p></p>', 'text/plain')]],
  ['an entity in plain text', [text('&nbsp;', 'text/plain')]],
  ['a picture in HTML', [text('<p><img src="https://agents.test/a.png"></p>', 'text/html')]],
  ['a reference to a letter', [text('&#72;'), text('<p>&copy;</p>', 'text/html')]],
  ['an element in Markdown, which shows it as text', [text('<br>'), text('<!-- a -->')]],
  ['words behind a style', [text('<style>p {}</style>Hi', 'text/html')]],
  ['an unclosed angle', [text('a <', 'text/html')]],
  ['a link', [{ kind: 'link', url: 'https://agents.test/' }]],
  ['a file', [{ kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'eA==' } }]],
  ['a tool call', [{ kind: 'tool_call', id: '1', name: 'look' }]],
  ['a refusal', [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }]],
])('isBlank() finds visible text in %s', (_what, parts) => {
  expect(showNothing(parts)).toBe(false)
})

test('isBlank() takes linear time for unclosed angle brackets', () => {
  const before = process.threadCpuUsage()
  const openings = ['<', '<p ', '<!--', '<style', '<style>', '&#', '&a']
  for (const opening of openings) showNothing([text(opening.repeat(300_000), 'text/html')])
  expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000)
})
