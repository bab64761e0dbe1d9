import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { textOfHtml } from './html-text.ts'

test.each([
  ['paragraphs', '<p>One</p>\n<p>Two<br>Three</p>', 'One\n\nTwo\nThree'],
  ['a list', '<ul><li>One</li><li>Two</li></ul>', '- One\n- Two'],
  ['entities', 'a &amp; b &#60; &#x3e; &nbsp;c &unknown; &#0;', 'a & b < > c &unknown; \ufffd'],
  ['a table', '<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['scripts and styles', '<style>p{}</style><script>alert("<p>")</script>Text<!-- no -->', 'Text'],
  [
    'a link with another target',
    '<a href="https://evil.test/">https://bank.test</a>',
    'https://bank.test <https://evil.test/>',
  ],
  ['a link to what it says', '<a href="https://bank.test/">bank.test</a>', 'bank.test'],
  ['links that are none', '<a href="javascript:x">a</a><a href=data:b>b</a><a>c</a>', 'abc'],
  ['a stray bracket', 'a < b <> c <3', 'a < b <> c <3'],
  ['a tag without end', 'a <img src="', 'a'],
])('textOfHtml() reads %s', (_what, html, text) => {
  expect(textOfHtml(html)).toEqual({ text, hasHidden: false })
})

test.each([
  'hidden',
  'style="display: none"',
  "style='visibility:hidden'",
  'style="font-size:0px"',
  'style="opacity:0"',
])('row 58: what %s hides is left out and reported', attribute => {
  const html = `<div>Seen <span ${attribute}>secret <span>orders</span></span> again</div>`
  expect(textOfHtml(html)).toEqual({ text: 'Seen again', hasHidden: true })
})

test.each([
  [
    'a class',
    '<style>p{color:red} h1, table td > i.secret , a{color:#333; display : none}</style>',
    'class="a secret"',
  ],
  ['an id', '<style>@import url(x); #s1 { visibility:hidden }</style>', 'id=s1'],
  ['a class of two colours', '<style>/* } */ .pale{color:#fff;background:#fff}</style>', "class='pale'"],
  ['the second sheet', '<style>p{}</style><p>x</p><style>.y{}}.z{mso-hide:all}</style>', 'class=z'],
])('row 58: what a style sheet hides by %s is left out and reported', (_what, sheet, attribute) => {
  const html = `<div>Seen <span ${attribute}>secret <span>orders</span></span> again</div>`
  expect(textOfHtml(sheet + html).text).toMatch(/^(?:x\n\n)?Seen again$/)
  expect(textOfHtml(sheet + html).hasHidden).toBe(true)
})

test.each([
  ['on small screens only', '<style>@media (max-width: 600px) { .wide { display: none } }</style>'],
  ['in another program', '<!--[if mso]><style>.wide{display:none}</style><![endif]-->'],
  [
    'by what it stands in',
    '<style>.wide .deep{display:none} .dark .wide, .wide.narrow, .wide:hover{display:none}</style>',
  ],
])('what is hidden %s is not hidden', (_what, sheet) => {
  expect(textOfHtml(`${sheet}<p class="wide">Seen</p>`)).toEqual({ text: 'Seen', hasHidden: false })
})

test.each([
  '<style>',
  '<style>{',
  '<style>}',
  '<style>.a{display:none}</style>',
  '/*',
  '.a,',
  '<style>.a{display:none},',
])('row 50: a megabyte of style sheets of %j ends', piece => {
  expect(measureGrowth(text => textOfHtml(`<style>${text}`), piece, 1_000_000)).toBeLessThan(24)
})

test('what is merely small or translucent is not hidden', () => {
  const html = '<p style="font-size:0.9em;opacity:0.5" class="hidden-xs">Seen</p>'
  expect(textOfHtml(html)).toEqual({ text: 'Seen', hasHidden: false })
})

test.each(['<div>', '<', '<a href="x">', '</a>', '&#', '<!--', '<p hidden>', ' ', '<a href="http://x/">y'])(
  'row 50: a megabyte of %j ends',
  piece => {
    expect(textOfHtml(piece.repeat(Math.ceil(1_000_000 / piece.length))).text).toBeTypeOf('string')
    expect(measureGrowth(textOfHtml, piece, 1_000_000)).toBeLessThan(24)
  },
)
