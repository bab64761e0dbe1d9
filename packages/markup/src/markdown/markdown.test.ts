import { measureGrowth } from '@postern/testing/growth'
import { drawCount } from '@postern/testing/scale'
import { describe, expect, test } from 'vitest'
import { markdownToMailHtml, markdownToMailText, plainToMailHtml } from './index.ts'

describe('markdownToMailHtml()', () => {
  test.each([
    ['lines', 'One\ntwo\n\nThree', '<p dir="auto">One<br>\ntwo</p>\n<p dir="auto">Three</p>'],
    [
      'marks',
      '**a** _b_ ~~c~~ `<d>`',
      '<p dir="auto"><strong>a</strong> <em>b</em> <s>c</s> <code>&lt;d&gt;</code></p>',
    ],
    ['headings', '# One\n## Two', '<h1 dir="auto">One</h1>\n<h2 dir="auto">Two</h2>'],
    ['code', '```js\nif (a < b) {\n  c\n}\n```', '<pre><code>if (a &lt; b) {\n  c\n}\n</code></pre>'],
    ['an open fence', '~~~\n<b>', '<pre><code>&lt;b&gt;</code></pre>'],
    ['links', '[a](https://x.test/?a=1&b=2)', '<p dir="auto"><a href="https://x.test/?a=1&amp;b=2">a</a></p>'],
    ['addresses', 'see https://x.test/a.', '<p dir="auto">see <a href="https://x.test/a">https://x.test/a</a>.</p>'],
    ['images as links', '![cat](https://x.test/c.png)', '<p dir="auto"><a href="https://x.test/c.png">cat</a></p>'],
    [
      'an image in a link',
      '[![cat](https://x.test/c.png)](https://x.test/)',
      '<p dir="auto"><a href="https://x.test/">cat</a></p>',
    ],
    [
      'quotes',
      '> a\n> > b',
      '<blockquote dir="auto">\n<p dir="auto">a</p>\n<blockquote dir="auto">\n<p dir="auto">b</p>\n</blockquote>\n</blockquote>',
    ],
  ])('writes %s', (_, markdown, html) => {
    expect(markdownToMailHtml(markdown)).toBe(html)
  })

  test('writes nested lists, each in its item', () => {
    const html = markdownToMailHtml('- a\n  1. b\n  2. c\n     - d\n- e')
    expect(html.replace(/ dir="auto"|\s+/g, '')).toBe(
      '<ul><li>a<ol><li>b</li><li>c<ul><li>d</li></ul></li></ol></li><li>e</li></ul>',
    )
  })

  test('writes tables with borders for mail programs', () => {
    const html = markdownToMailHtml('| a | b |\n| --- | ---: |\n| *c* | d\\|e |')
    expect(html).toContain('<table style="border-collapse:collapse">')
    expect(html).toContain('<td dir="auto" style="border:1px solid #ccc;padding:4px 8px"><em>c</em></td>')
    expect(html).toContain('<td style="text-align:right;border:1px solid #ccc;padding:4px 8px" dir="auto">d|e</td>')
  })

  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[a](javascript:alert(1))',
    '[a](data:text/html,x)',
    '![a](cid:x)',
    '[a](https://x.test/"onclick="alert(1))',
    '`<b onclick=x>`',
    '```<i>\n<b>\n```',
    '|<b>|\n|-|\n|<img>|',
    '<https://x.test/"><script>',
    '[x]: javascript:alert(1)\n\n[x]',
  ])('removes foreign markup: %s', markdown => {
    const tags = markdownToMailHtml(markdown).match(/<[^>]*>/g) ?? []
    const allowedTags =
      /^<\/?(?:p|pre|code|a|table|thead|tbody|tr|th|td)(?: (?:dir="auto"|style="[\w:;# -]*"|href="https:\/\/[^"<>]*"))*>$/
    expect(tags.filter(tag => !allowedTags.test(tag))).toEqual([])
  })

  test.each([
    ['a line of quote marks', '>'.repeat(99_000)],
    ['quotes in quotes', `${'> '.repeat(60)}deep`],
    ['lists in lists', `${'- '.repeat(60)}deep`],
    ['more than anybody reads', 'deep '.repeat(30_000)],
  ])('writes %s as literal text (EM-56)', (_, markdown) => {
    expect(markdownToMailHtml(markdown)).toBe(plainToMailHtml(markdown))
  })
})

describe('markdownToMailText()', () => {
  test('aligns the columns of tables, for monospaced text', () => {
    const table = 'Prices:\n\n| what | price |\n|---|---|\n| tea | 3 |\n| 抹茶 | 12 \\| 15 |\n\nBye.'
    expect(markdownToMailText(table)).toBe(
      'Prices:\n\n| what | price   |\n| ---- | ------- |\n| tea  | 3       |\n| 抹茶 | 12 | 15 |\n\nBye.',
    )
  })

  test('removes the backslash before an escaped character', () => {
    expect(markdownToMailText('Write \\#help, 2 \\* 3.')).toBe('Write #help, 2 * 3.')
  })

  test('keeps a literal backslash', () => {
    expect(markdownToMailText('> a | b\n> --|--\n> long | c')).toBe(
      '> | a    | b   |\n> | ---- | --- |\n> | long | c   |',
    )
    expect(markdownToMailText('- | a | b |\n  |---|---|\n  | long | c |')).toBe(
      '- | a    | b   |\n  | ---- | --- |\n  | long | c   |',
    )
  })

  test('writes wide tables row by row', () => {
    const long = 'word '.repeat(30).trim()
    expect(markdownToMailText(`|a|b|\n|-|-|\n|1|${long}|\n|2||`)).toBe(`a: 1\nb: ${long}\n\na: 2`)
  })

  test.each(['no table', '```\n| a |\n|---|\n| b |\n```', 'a | b', '# T\n\n- x\n  - y\n\n~~z~~ **w**  \n'])(
    'keeps everything else unchanged: %j',
    markdown => {
      expect(markdownToMailText(markdown)).toBe(markdown)
    },
  )
})

const pieces = [
  '[',
  '*',
  '**a ',
  '`',
  '```\n',
  '> ',
  '- ',
  '](',
  '[a](',
  '![',
  '~~a ',
  '<https://',
  '#',
  '|',
  '|a',
  '|a|\n|-|\n',
  'a|b\n-|-\n',
  '[a]: x\n',
  '\\',
  'a@b.',
  'http://a',
  '*a**',
  '![[]()',
]

const size = drawCount({ quick: 16_000, long: 48_000 })

test.each(pieces)('markdownToMailHtml() and markdownToMailText() take linear time for many %j', piece => {
  expect(measureGrowth(markdownToMailHtml, piece, size)).toBeLessThan(30)
  expect(measureGrowth(text => markdownToMailText(`|${text}`), piece, size)).toBeLessThan(30)
})
