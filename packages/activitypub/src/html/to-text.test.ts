import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { htmlToText } from './to-text.ts'

const mastodonLink =
  '<a href="https://example.com/a/long/path" rel="nofollow"><span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>'

test.each([
  ['paragraphs and lines', '<p>One<br>two</p><p>Three</p>', 'One\ntwo\n\nThree'],
  ['an empty line between two lines', 'One<br><br>two<br><br><br><br>three<br>', 'One\n\ntwo\n\nthree'],
  ['a line end at the end of a paragraph', '<p>One<br></p><p>two</p>', 'One\n\ntwo'],
  ['plain text', 'no <markup> at 3 < 4', 'no at 3 < 4'],
  ['lists', '<ul><li>a</li><li>b</li></ul>', '- a\n- b'],
  ['numbered lists', '<ol><li>a</li><li>b</li></ol><p>c</p><ol start="7"><li>d</li></ol>', '1. a\n2. b\n\nc\n\n7. d'],
  ['lists in lists', '<ol><li>a<ul><li>x</li></ul></li><li>b</li></ol>', '1. a\n\n- x\n\n2. b'],
  ['items without a list', '<li>a</li></ol><li>b</li>', '- a\n\n- b'],
  ['a list of links', '<ul><li><a href="https://a.test/">https://a.test/</a></li></ul>', '- https://a.test/'],
  ['quotes', '<blockquote><p>said</p></blockquote><p>yes</p>', '> said\n\nyes'],
  ['code as it stands', '<pre><code>if (a) {\n  b\n}</code></pre>', 'if (a) {\n  b\n}'],
  ['entities', '&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39; &#x1F600; &unknown;', '<b> & "x" \'y\' 😀 &unknown;'],
  ['white space', '<p>  a \n\t b  </p>\n\n<p>c</p>', 'a b\n\nc'],
  ['a link by its address', '<a href="https://a.test/x">https://a.test/x</a>', 'https://a.test/x'],
  ['a link with its words', '<a href="https://a.test/x">read this</a>', 'read this (https://a.test/x)'],
  [
    'a link that pretends',
    '<a href="https://evil.test/">https://bank.test/</a>',
    'https://bank.test/ (https://evil.test/)',
  ],
  ['a link without words', '<p>see <a href="https://a.test/"></a></p>', 'see https://a.test/'],
  ['Mastodon’s shortened link', `<p>at ${mastodonLink} now</p>`, 'at https://example.com/a/long/path now'],
  ['a mention', '<a href="https://a.test/@bob" class="u-url mention">@<span>bob</span></a> hi', '@bob hi'],
  ['a hashtag', '<a href="https://a.test/tags/x" class="mention hashtag">#<span>x</span></a>', '#x'],
  ['script links', '<a href="javascript:alert(1)">click</a>', 'click'],
  ['joiners', 'नमस्\u200dते 👩\u200d💻', 'नमस्\u200dते 👩\u200d💻'],
])('htmlToText() reads %s', (_, html, text) => {
  expect(htmlToText(html)).toEqual({ text, hadHidden: false })
})

test.each([
  ['by style', 'a<span style="display: none">secret</span>b'],
  ['by visibility', 'a<span style="color:red;visibility:hidden">secret</span>b'],
  ['by size', 'a<span style="font-size:0px">secret</span>b'],
  ['by attribute', 'a<span hidden>secret</span>b'],
  ['by class', 'a<span class="invisible">secret</span>b'],
  ['in a hidden parent', 'a<div hidden><p><b>secret</b></p></div>b'],
  [
    'in tag characters',
    `a${[...'secret']
      .map(char => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0)))
      .join('')
      .repeat(2)}b`,
  ],
  ['in a link', 'a<a href="https://x.test/"><span class="invisible">secret words</span></a>b'],
])('htmlToText() takes out and reports text hidden %s', (_, html) => {
  const { text, hadHidden } = htmlToText(html)
  expect(text).not.toContain('secret')
  expect(hadHidden).toBe(true)
})

test.each([
  '<script>secret</script>',
  '<style>secret</style>',
  '<!-- secret -->',
  '<template>secret</template>',
  '<svg><text>secret</text></svg>',
  '<b title="secret">',
])('htmlToText() passes over what is no text: %s', html => {
  expect(htmlToText(`a${html}b`).text).toMatch(/^a\s*b$/)
})

test('htmlToText() leaves out mentions of us at the beginning only', () => {
  const mention = (name: string) =>
    `<span class="h-card"><a href="https://agents.test/agents/${name}" class="u-url mention">@<span>${name}</span></a></span>`
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  const html = `<p>${mention('echo')} ask ${mention('echo')} and ${mention('other')}</p>`
  expect(htmlToText(html, { isOwnMention }).text).toBe('ask @echo and @other')
  expect(htmlToText(`<p>${mention('other')} hi</p>`, { isOwnMention }).text).toBe('@other hi')
})

test.each([
  ['with no class', '<p><a href="https://agents.test/agents/echo">@echo@agents.test</a> hi @you</p>', 'hi @you'],
  ['in a marked element', '<span class="mention"><a href="https://agents.test/agents/echo">@echo</a></span> hi', 'hi'],
  ['followed by a comma', '<a href="https://agents.test/agents/echo" class="mention">@echo</a>, hi', 'hi'],
  ['followed by an emoji', '<a href="https://agents.test/agents/echo" class="mention">@echo</a> :cat: hi', ':cat: hi'],
  ['in the middle', 'hi <a href="https://agents.test/agents/echo">@echo</a>!', 'hi @echo!'],
])('htmlToText() knows a mention of us %s', (_, html, text) => {
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  expect(htmlToText(html, { isOwnMention })).toEqual({ text, hadHidden: false })
})

test('htmlToText() shows where a link leads that only looks like a mention of us', () => {
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  const html = '<a href="https://evil.test/">@echo</a> or <a href="https://agents.test/agents/echo">this</a>'
  expect(htmlToText(html, { isOwnMention }).text).toBe(
    '@echo (https://evil.test/) or this (https://agents.test/agents/echo)',
  )
})

test.each([
  ['open tags without an end', '<a href="'],
  ['open comments', '<!--'],
  ['open scripts', '<script>'],
  ['angle brackets', '<'],
  ['paragraphs', '<p>'],
  ['empty links', '<a href="https://x.test">'],
  ['ampersands', '&'],
  ['attributes', '<b a="1" '],
  ['quoted attributes', '<b a="'],
  ['closing tags', '</p>'],
  ['nested hidden elements', '<i hidden>'],
  ['lists', '<ol><li>'],
  ['words in blocks', 'x<br>'],
])('39: htmlToText() takes linear time for a megabyte of %s', (_, piece) => {
  expect(measureGrowth(htmlToText, piece, 1_000_000)).toBeLessThan(30)
})

test.each([
  ['blanks after a long text', (text: string) => `${'a '.repeat(text.length / 2)}${'<b> '.repeat(text.length / 4)}`],
  ['words and angle brackets', (text: string) => '< '.repeat(text.length / 2)],
])('39: htmlToText() takes linear time for %s', (_, write) => {
  expect(measureGrowth(text => htmlToText(write(text)), 'x', 1_000_000)).toBeLessThan(30)
})

test('39: htmlToText() does not look through all open elements for the end of one that is not open', () => {
  const open = '<b>'.repeat(255)
  const before = process.threadCpuUsage()
  for (let run = 0; run < 5; run += 1) htmlToText(open + '</x>'.repeat(250_000))
  const deep = process.threadCpuUsage(before).user
  const middle = process.threadCpuUsage()
  for (let run = 0; run < 5; run += 1) htmlToText('</x>'.repeat(250_000))
  expect(deep / process.threadCpuUsage(middle).user).toBeLessThan(4)
})
