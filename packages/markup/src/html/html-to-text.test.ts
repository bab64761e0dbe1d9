import { expect, test } from 'vitest'
import type { HtmlTextOptions } from './html-to-text.ts'
import { htmlToText } from './html-to-text.ts'

const mastodonLink =
  '<a href="https://example.com/a/long/path" rel="nofollow"><span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>'
const fediverse: HtmlTextOptions = { hidingClasses: new Set(['invisible']) }

test.each([
  ['paragraphs and lines', '<p>One<br>two</p>\n<p>Three</p>', 'One\ntwo\n\nThree'],
  ['an empty line between two lines', 'One<br><br>two<br><br><br><br>three<br>', 'One\n\ntwo\n\nthree'],
  ['a line end at the end of a paragraph', '<p>One<br></p><p>two</p>', 'One\n\ntwo'],
  ['plain text', 'a < b <> c <3', 'a < b <> c <3'],
  ['lists', '<ul><li>a</li><li>b</li></ul>', '- a\n- b'],
  ['numbered lists', '<ol><li>a</li><li>b</li></ol><p>c</p><ol start="7"><li>d</li></ol>', '1. a\n2. b\n\nc\n\n7. d'],
  ['lists in lists', '<ol><li>a<ul><li>x<li>y</ul></li><li>b</li></ol>', '1. a\n  - x\n  - y\n2. b'],
  ['items without a list', '<li>a</li></ol><li>b</li>', '- a\n- b'],
  ['a list of links', '<ul><li><a href="https://a.test/">https://a.test/</a></li></ul>', '- https://a.test/'],
  [
    'quotes, each line of them',
    '<blockquote><p>one<br>two</p><p>three</p></blockquote><p>yes</p>',
    '> one\n> two\n>\n> three\n\nyes',
  ],
  ['quotes in quotes', '<blockquote>a<blockquote>b</blockquote></blockquote>c', '> a\n>\n> > b\n\nc'],
  ['code as it stands', '<pre><code>if (a) {\n  b\n}</code></pre>after', 'if (a) {\n  b\n}\n\nafter'],
  ['lines that a style keeps', '<div style="white-space: pre-wrap">a\n  b</div>', 'a\n  b'],
  ['a quotation of code', '<blockquote><pre>a\n  b</pre></blockquote>', '> a\n>   b'],
  ['a table', '<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['a line across', '<p>a</p><hr><p>b</p>', 'a\n\n---\n\nb'],
  [
    'entities',
    '&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39; &#x1F600; &Zcaron; &unknown;',
    '<b> & "x" \'y\' 😀 Ž &unknown;',
  ],
  ['white space', '<p>  a \n\t b  </p>\n\n<p>c</p>', 'a b\n\nc'],
  ['a link by its address', '<a href="https://a.test/x">https://a.test/x</a>', 'https://a.test/x'],
  ['a link with its words', '<a href="https://a.test/x">read this</a>', 'read this (https://a.test/x)'],
  ['a mailbox', '<a href="mailto:bob@a.test">bob@a.test</a>', 'bob@a.test'],
  [
    'a link that pretends',
    '<a href="https://evil.test/?bank.test">bank.test</a>',
    'bank.test (https://evil.test/?bank.test)',
  ],
  ['a link without words', '<p>see <a href="https://a.test/"></a></p>', 'see https://a.test/'],
  ['links that lead nowhere', '<a href="javascript:x">a</a><a href=data:b>b</a><a>c</a>', 'abc'],
  ['Mastodon’s shortened link', `<p>at ${mastodonLink} now</p>`, 'at https://example.com/a/long/path now'],
  ['a mention', '<a href="https://a.test/@bob" class="u-url mention">@<span>bob</span></a> hi', '@bob hi'],
  ['joiners', 'नमस्\u200dते 👩\u200d💻', 'नमस्\u200dते 👩\u200d💻'],
  ['small letters and faint ones', '<p style="font-size:0.7em;opacity:0.5;color:#999">Seen</p>', 'Seen'],
  ['an empty svg', 'a<svg/>b<svg><title/></svg>c', 'abc'],
  ['a tag without end', 'a <img src="', 'a'],
])('htmlToText() reads %s', (_, html, text) => {
  expect(htmlToText(html, fediverse)).toEqual({ text, hasHidden: false })
})

test.each([
  '<script>secret</script>',
  '<style>secret</style>',
  '<!-- secret -->',
  '<![CDATA[secret]]>',
  '<template>secret</template>',
  '<svg><text>secret</text></svg>',
  '<select><option>secret</select>',
  '<textarea></div>secret</textarea>',
  '<iframe><p>secret</iframe>',
  '<b title="secret">',
])('htmlToText() skips non-text content: %s', html => {
  expect(htmlToText(`a${html}b`).text).toMatch(/^a\s*b$/)
})

test('htmlToText() leaves invisible characters to its caller', () => {
  const tags = [...'secret'].map(char => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join('')
  expect(htmlToText(`a${tags}b&#847;\u200b`)).toEqual({ text: `a${tags}b\u034f\u200b`, hasHidden: false })
})

test('htmlToText() removes mentions of the agent only at the beginning', () => {
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
])('htmlToText() recognizes a mention of the agent %s', (_, html, text) => {
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  expect(htmlToText(html, { isOwnMention })).toEqual({ text, hasHidden: false })
})

test('htmlToText() shows the target of a link that only looks like a mention of the agent', () => {
  const isOwnMention = (href: string) => href === 'https://agents.test/agents/echo'
  const html = '<a href="https://evil.test/">@echo</a> or <a href="https://agents.test/agents/echo">this</a>'
  expect(htmlToText(html, { isOwnMention }).text).toBe(
    '@echo (https://evil.test/) or this (https://agents.test/agents/echo)',
  )
})

test('htmlToText() omits the named elements, alone or with all that follows', () => {
  const omit: HtmlTextOptions['omit'] = (name, attributes) =>
    name === 'q' ? 'element' : attributes.get('id') === 'end' ? 'rest' : undefined
  expect(htmlToText('a<q>b<i>c</i></q>d<p id="end">e</p>f', { omit }).text).toBe('ad')
})

test('a style that two elements share hides only the element of the matching kind', () => {
  const read = htmlToText('<p style="color:red">shown</p><dialog style="color:red">closed</dialog>')
  expect(read).toMatchObject({ text: 'shown', hasHidden: true })
})
