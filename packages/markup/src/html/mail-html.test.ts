import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { htmlToMailHtml } from './mail-html.ts'

test('htmlToMailHtml() keeps headings, lists, tables and links', () => {
  const html = htmlToMailHtml(
    '<h2 class="x">Hours</h2><ul><li>Mon: 9-5</li></ul><table><tr><th>a</th></tr><tr><td>10<sup>6</sup></td></tr></table><p>See <a href="https://a.test/map" onclick="x">the map</a>.</p>',
  )
  expect(html).toContain('<h2 dir="auto">Hours</h2><ul dir="auto"><li dir="auto">Mon: 9-5</li></ul>')
  expect(html).toContain(
    '<table style="border-collapse:collapse"><tr><th dir="auto" style="border:1px solid #ccc;padding:4px 8px">a</th>',
  )
  expect(html).toContain('10<sup>6</sup></td></tr></table>')
  expect(html).toContain('<a href="https://a.test/map" rel="nofollow noopener noreferrer">the map</a>')
})

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<a href="javascript:alert(1)">a</a>',
  '<p style="background:url(https://x.test/)">a</p>',
  '<iframe src="https://x.test/"></iframe>',
  '<form action="https://x.test/"><input type="checkbox" checked onfocus=x></form>',
  '<svg><a href="https://x.test/">a</a></svg>',
  '<math><mtext><img src=x onerror=x></mtext></math>',
])('htmlToMailHtml() removes everything that runs or loads: %s', html => {
  const tags = htmlToMailHtml(html).match(/<[^>]*>/g) ?? []
  const allowedTags = /^<\/?(?:p|a)(?: dir="auto")?>$/
  expect(tags.filter(tag => !allowedTags.test(tag))).toEqual([])
})

test('htmlToMailHtml() keeps line breaks of blocks that mail does not support', () => {
  expect(htmlToMailHtml('<div>one</div><section>two</section><table><tr><td>a</td></tr></table>')).toMatch(
    /^one<br>two<table/,
  )
})

test.each(['<table>', '<table><tr><td>a', '<td>', '<sup>', '<sup>2</sup>', '<math>', '<b>', '</b>', '<i><sup>2</sup>'])(
  'htmlToMailHtml() takes linear time for many %s',
  piece => {
    expect(measureGrowth(htmlToMailHtml, piece, 64_000)).toBeLessThan(30)
  },
)
