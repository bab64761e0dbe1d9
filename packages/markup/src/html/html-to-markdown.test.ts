import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { htmlToMarkdown } from './html-to-markdown.ts'

test.each([
  [
    'headings, lists and links',
    '<h2>Hours</h2><ul><li>Mon: 9-5</li><li>Tue: closed</li></ul><p>See <a href="https://a.test/map">the map</a>.</p>',
    '## Hours\n\n- Mon: 9-5\n- Tue: closed\n\nSee [the map](https://a.test/map).',
  ],
  ['emphasis', '<p><b>bold</b>, <em> soft </em> and <del>gone</del></p>', '**bold**, *soft* and ~~gone~~'],
  [
    'code',
    'run <code>a_b *c*</code><pre><code>if (a) {\n  b\n}\n</code></pre>',
    'run `a_b *c*`\n\n```\nif (a) {\n  b\n}\n```',
  ],
  ['signs as text', '<p>2 * 3 [x] a_b &lt;b&gt;</p>', '2 \\* 3 \\[x\\] a\\_b \\<b\\>'],
  [
    'pictures',
    '<img src="https://a.test/c.png" alt="A cat"> <img src="x" alt="y">',
    '![A cat](https://a.test/c.png) \\[y\\]',
  ],
  ['a picture as a link', '<a href="https://a.test/(b)"><img src="x" alt="Pay"></a>', '[Pay](https://a.test/%28b%29)'],
  ['quotes', '<blockquote>one<br>two</blockquote>three', '> one\n> two\n\nthree'],
  [
    'nothing that runs or hides',
    '<script>x</script><p style="display:none">y</p><a href="javascript:alert(1)">z</a>',
    'z',
  ],
])('htmlToMarkdown() writes %s', (_, html, markdown) => {
  expect(htmlToMarkdown(html)).toBe(markdown)
})

test.each(['<b>', '<b>a</b>', '<pre>', '<pre>a</pre>', '`', '<code>`</code>', '<a href="https://a.test/">', '<h1>'])(
  'htmlToMarkdown() takes linear time for many %s',
  piece => {
    expect(measureGrowth(htmlToMarkdown, piece, 64_000)).toBeLessThan(30)
  },
)
