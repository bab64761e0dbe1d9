import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { readPostText } from './read-note.ts'

const mastodonLink =
  '<a href="https://example.com/a/long/path" rel="nofollow"><span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>'

test.each([
  ['paragraphs and lines', '<p>One<br>two</p><p>Three</p>', 'One\ntwo\n\nThree'],
  ['lists in lists', '<ol><li>a<ul><li>x</li></ul></li><li>b</li></ol>', '1. a\n  - x\n2. b'],
  ['code as it stands', '<pre><code>if (a) {\n  b\n}</code></pre>', 'if (a) {\n  b\n}'],
  ['Mastodon’s shortened link', `<p>at ${mastodonLink} now</p>`, 'at https://example.com/a/long/path now'],
  ['a link by its normalized address', '<a href="HTTPS://A.test">here</a>', 'here (https://a.test/)'],
  ['a link that is no address of the web', '<a href="mailto:bob@a.test">bob</a>', 'bob'],
  ['a power, and an ordinal', '10<sup>6</sup> grains, the 3<sup>rd</sup>', '10^6 grains, the 3rd'],
  [
    'a picture in a sentence',
    'See <img src="https://x.test/s.png" alt="Sales by month"> please',
    'See [Sales by month] please',
  ],
  ['nothing but a picture', '<p><img src="https://x.test/cat.png" alt="A cat asleep"></p>', '[A cat asleep]'],
  ['a picture without a text', 'See <img src="https://x.test/s.png" alt=""> please', 'See please'],
  ['a price that was struck out', 'Price: <del>12 EUR</del> 10 EUR', 'Price: ~~12 EUR~~ 10 EUR'],
  ['joiners', 'नमस्\u200dते 👩\u200d💻', 'नमस्\u200dते 👩\u200d💻'],
])('readPostText() reads %s', (_, html, text) => {
  expect(readPostText(html)).toEqual({ text, hasHiddenText: false })
})

test.each([
  ['by style', 'a<span style="display: none">secret</span>b'],
  ['by attribute', 'a<span hidden>secret</span>b'],
  ['by class', 'a<span class="invisible">secret</span>b'],
  ['by a style sheet', '<style>.x{opacity:0}</style>a<span class="x">secret</span>b'],
  ['in a box without room', 'a<div style="max-height:0;overflow:hidden">secret</div>b'],
  ['off the screen', 'a<div style="position:absolute;left:-9999px">secret</div>b'],
  ['in the colour of the page', 'a<span style="color:#fff">secret</span>b'],
  ['by a scale', 'a<div style="transform:scale(0)">secret</div>b'],
  ['in a hidden parent', 'a<div hidden><p><b>secret</b></p></div>b'],
  ['in a link', 'a<a href="https://x.test/"><span class="invisible">secret words</span></a>b'],
])('readPostText() removes and reports text hidden %s', (_, html) => {
  const { text, hasHiddenText } = readPostText(html)
  expect(text).not.toContain('secret')
  expect(hasHiddenText).toBe(true)
})

test('readPostText() removes mentions of the agent only at the beginning', () => {
  const mention = (name: string) =>
    `<span class="h-card"><a href="https://agents.test/agents/${name}" class="u-url mention">@<span>${name}</span></a></span>`
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  const html = `<p>${mention('echo')} ask ${mention('echo')} and ${mention('other')}</p>`
  expect(readPostText(html, { isOwnMention }).text).toBe('ask @echo and @other')
  expect(readPostText(`<p>${mention('other')} hi</p>`, { isOwnMention }).text).toBe('@other hi')
})

test.each(['<a href="', '<p>', '<i hidden>', '<a href="https://x.test">', 'x<br>'])(
  'readPostText() takes linear time for much of %s (AP-39)',
  piece => {
    expect(measureGrowth(readPostText, piece, 250_000)).toBeLessThan(30)
  },
)
