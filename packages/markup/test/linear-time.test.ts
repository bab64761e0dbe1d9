import { measureGrowth } from '@postern/testing/growth'
import { drawCount } from '@postern/testing/scale'
import { expect, test } from 'vitest'
import { htmlToText } from '../src/html/html-to-text.ts'

/** The size of the input, in characters. */
const size = drawCount({ quick: 60_000, long: 250_000 })

let conversions = 0

/** Converts a text whose styles differ from those of all earlier ones, because the looks of a small document come from a cache afterwards. */
function convertUncached(html: string): unknown {
  conversions += 1
  return htmlToText(html.replaceAll('style="', `style="top:${conversions}px;`))
}

test.each([
  '<a href="',
  '<!--',
  '<![CDATA[',
  '<script>',
  '<',
  '<p>',
  '<p hidden>',
  '<div>',
  '<div style="color:#fff;left:-1px">',
  '<a href="https://x.test">',
  '<a href="http://x/">y',
  '</a>',
  '&',
  '&#',
  '&am',
  '<b a="1" ',
  '<b a="',
  '</p>',
  '<i hidden>',
  '<ol><li>',
  'x<br>',
  ' ',
  '<td>',
  '<table><tr><td>',
  '<table><b></table>',
  '<b><div></b>',
  '<div><b></div>',
  '<b><i><u></b>',
  '<li>',
  '<dd><b>',
  '<blockquote>x',
  '<pre>\n',
  '<details><summary>',
  '<svg>',
  '<title>',
  '<style>',
  '<i style="--a:var(--a)var(--a);display:var(--a)">',
  '<i style="width:calc(calc(calc(">',
  '<p class="a b c d e f g h">',
])('htmlToText() takes linear time for much of %j (EM-50)', piece => {
  expect(measureGrowth(convertUncached, piece, size)).toBeLessThan(30)
})

test.each([
  '<style>{',
  '<style>}',
  '<style>@media screen{',
  '<style>.a{display:none}',
  '<style>/*',
  '<style>.a,',
  '<style>.a>b ~ c:not(',
  '<style>.a{display:none},',
  '<style>a{color:',
  '<style>a{color:((((',
])('htmlToText() takes linear time for much of style sheets of %j', piece => {
  const [open = '', content = ''] = [piece.slice(0, 7), piece.slice(7)]
  expect(measureGrowth(text => htmlToText(open + text), content, size)).toBeLessThan(30)
  expect(measureGrowth(htmlToText, `${piece}}</style>`, size)).toBeLessThan(30)
})

test.each([
  ['blanks after a long text', (text: string) => `${'a '.repeat(text.length / 2)}${'<b> '.repeat(text.length / 4)}`],
  ['words and angle brackets', (text: string) => '< '.repeat(text.length / 2)],
  ['end tags under open elements', (text: string) => '<b>'.repeat(text.length / 8) + '</x>'.repeat(text.length / 8)],
  [
    'ends of blocks with formats',
    (text: string) =>
      `${'<div>'.repeat(text.length / 16)}${'<b>'.repeat(text.length / 16)}${'</div>'.repeat(text.length / 16)}`,
  ],
  [
    'ends of formats with blocks',
    (text: string) =>
      `${'<b>'.repeat(text.length / 16)}${'<div>'.repeat(text.length / 16)}${'</b>'.repeat(text.length / 16)}`,
  ],
  ['a long link', (text: string) => `<a href="https://x.test">${'y<b>z</b>'.repeat(text.length / 9)}</a>`],
  [
    'a deep quotation',
    (text: string) => `${'<blockquote>'.repeat(text.length / 24)}${'x<br>'.repeat(text.length / 10)}`,
  ],
])('htmlToText() takes linear time for %s', (_, write) => {
  expect(measureGrowth(text => htmlToText(write(text)), 'x', size)).toBeLessThan(30)
})

test('htmlToText() takes linear time for many rules with many matching elements', () => {
  const write = ({ length }: string) =>
    `<style>${'.a b .c > i{display:none}'.repeat(length / 50)}</style>${'<b class="a c"><i>x</i></b>'.repeat(length / 50)}`
  expect(measureGrowth(text => htmlToText(write(text)), 'x', 4 * size)).toBeLessThan(30)
})
