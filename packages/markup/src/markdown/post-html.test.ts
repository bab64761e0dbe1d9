import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { markdownToPostHtml } from './post-html.ts'

const rel = 'rel="nofollow noopener noreferrer"'

test.each([
  ['paragraphs and lines', 'One\ntwo\n\nThree', '<p>One<br>two</p><p>Three</p>'],
  [
    'emphasis',
    '**bold** *soft* __bold__ _soft_ ~~gone~~',
    '<p><strong>bold</strong> <em>soft</em> <strong>bold</strong> <em>soft</em> <del>gone</del></p>',
  ],
  ['emphasis in emphasis', '**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
  ['marks without an end', '**a *b', '<p>**a *b</p>'],
  ['marks that cross', '*a **b* c**', '<p><em>a <em><em>b</em> c</em></em></p>'],
  ['names with underscores', 'snake_case_name and 2 * 3 * 4', '<p>snake_case_name and 2 * 3 * 4</p>'],
  ['code', '`a < *b*` and ``` open', '<p><code>a &lt; *b*</code> and ``` open</p>'],
  ['escapes', '\\*not\\* \\a', '<p>*not* \\a</p>'],
  ['links', '[a *b*](https://x.test/?a=1&b=2)', `<p><a href="https://x.test/?a=1&amp;b=2" ${rel}>a <em>b</em></a></p>`],
  ['links with brackets', '[w](https://x.test/a_(b))', `<p><a href="https://x.test/a_(b)" ${rel}>w</a></p>`],
  [
    'bare addresses',
    'see https://x.test/a. And (https://y.test/b)',
    `<p>see <a href="https://x.test/a" ${rel}>https://x.test/a</a>. And (<a href="https://y.test/b" ${rel}>https://y.test/b</a>)</p>`,
  ],
  ['angle addresses', '<https://x.test/a>', `<p><a href="https://x.test/a" ${rel}>https://x.test/a</a></p>`],
  [
    'no link in a link',
    '[https://y.test/](https://x.test/)',
    `<p><a href="https://x.test/" ${rel}>https://y.test/</a></p>`,
  ],
  [
    'of a link in a link the inner one',
    '[a [b](https://y.test/) c](https://x.test/)',
    `<p>[a <a href="https://y.test/" ${rel}>b</a> c](<a href="https://x.test/" ${rel}>https://x.test/</a>)</p>`,
  ],
  ['headings without their closing marks', '## a # b ##  ', '<p><strong>a # b</strong></p>'],
  ['images as links', '![cat](https://x.test/c.png)', `<p><a href="https://x.test/c.png" ${rel}>cat</a></p>`],
  ['headings as bold', '# Title #\ntext', '<p><strong>Title</strong></p><p>text</p>'],
  [
    'lists',
    '- a\n- b\n  - c\n\n1. x\n2. y',
    '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x</li><li>y</li></ol>',
  ],
  ['a list after a paragraph', 'These:\n- a', '<p>These:</p><ul><li>a</li></ul>'],
  ['quotes', '> a\n> b\n\nc', '<blockquote><p>a<br>b</p></blockquote><p>c</p>'],
  ['fences', '```js\nif (a < b) {}\n```\nafter', '<pre><code>if (a &lt; b) {}</code></pre><p>after</p>'],
  ['a fence without an end', '~~~\n<b>', '<pre><code>&lt;b&gt;</code></pre>'],
  [
    'a table as text with even columns',
    '| Day | Hours |\n| --- | ---: |\n| Mon | 9-5 |\n| Tue | closed |',
    '<pre><code>Day   Hours\nMon     9-5\nTue  closed</code></pre>',
  ],
  [
    'cells without their marks, links with their address',
    'a\n\n| **b** | c |\n|---|---|\n| `d` | [e](https://x.test/) |\n\nf',
    '<p>a</p><pre><code>b  c\nd  e (https://x.test/)</code></pre><p>f</p>',
  ],
  [
    'escaped signs of tags and names as references',
    '\\#help \\@guest@x.test #tag',
    '<p>&#35;help &#64;guest@x.test #tag</p>',
  ],
  ['nothing', '\n\n', ''],
])('markdownToPostHtml() writes %s', (_, markdown, html) => {
  expect(markdownToPostHtml(markdown)).toBe(html)
})

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '[a](javascript:alert(1))',
  '[a](data:text/html,x)',
  '[a](https://x.test/"onclick="alert(1))',
  '`<b onclick=x>`',
  '# <i>',
  '<https://x.test/"><script>',
])('markdownToPostHtml() removes foreign markup: %s', markdown => {
  const tags = markdownToPostHtml(markdown).match(/<[^>]*>/g) ?? []
  const allowedTags = /^<(\/?(p|strong|code)|\/a|a href="https:\/\/[^"<>]*" rel="nofollow noopener noreferrer")>$/
  expect(tags.filter(tag => !allowedTags.test(tag))).toEqual([])
})

test.each([
  '[',
  '*',
  '**a ',
  '`',
  '```\n',
  '> ',
  '- ',
  '  - ',
  '](',
  '[a](',
  'h',
  '_a_ ',
  '~~',
  '\n',
  '<https://',
  '#',
  '![',
])('markdownToPostHtml() takes linear time for many "%s"', piece => {
  expect(measureGrowth(markdownToPostHtml, piece, 99_000)).toBeLessThan(30)
})

test.each([
  ['links in links', (text: string) => `${'['.repeat(text.length / 10)}${'](http:x)'.repeat(text.length / 10)}`],
  ['blanks in a heading', (text: string) => `# a${' '.repeat(text.length)}b`],
])('markdownToPostHtml() takes linear time for %s', (_, write) => {
  expect(measureGrowth(text => markdownToPostHtml(write(text)), 'x', 99_000)).toBeLessThan(30)
})
