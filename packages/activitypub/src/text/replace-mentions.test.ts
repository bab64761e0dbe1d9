import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { replaceMentionsAndHashtags } from './replace-mentions.ts'

const replacements = {
  replaceMention: (address: string) => `[${address}]`,
  replaceHashtag: (tag: string) => `{${tag}}`,
}

test.each([
  [
    'a name',
    '<p>Ask @Bob@b.test, she knows. (@bob@b.test)</p>',
    '<p>Ask [@bob@b.test], she knows. ([@bob@b.test])</p>',
  ],
  ['a name before a full stop', '<p>Thanks, @bob@b.test.</p>', '<p>Thanks, [@bob@b.test].</p>'],
  ['a host of another script', '<p>@bob@gödel.test</p>', '<p>[@bob@xn--gdel-5qa.test]</p>'],
  ['the whole of a longer host', '<p>@bob@b.test.evil.test</p>', '<p>[@bob@b.test.evil.test]</p>'],
  ['a tag', '<p>#Bücher, #c_3 (#日本語) #naïve.</p>', '<p>{Bücher}, {c_3} ({日本語}) {naïve}.</p>'],
  ['combining letters', '<p>#हिन्दी #n\u0303u</p>', '<p>{हिन्दी} {n\u0303u}</p>'],
  [
    'a tag beside marks of HTML',
    '<p><em>#a</em>&quot;#b&quot; &amp;#c &#39;#d&#39;</p>',
    '<p><em>{a}</em>&quot;{b}&quot; &amp;{c} &#39;{d}&#39;</p>',
  ],
  ['a tag without the separator at its end', '<p>#a·b·</p>', '<p>{a·b}·</p>'],
])('replaceMentionsAndHashtags() finds %s', (_, html, mapped) => {
  expect(replaceMentionsAndHashtags(html, replacements)).toBe(mapped)
})

test.each([
  ['an address of mail', '<p>bob@b.test x@bob@b.test</p>'],
  ['a name without a domain', '<p>@bob @bob@localhost</p>'],
  ['a link', '<p><a href="https://b.test/@bob@b.test#x">@bob@b.test #tag</a></p>'],
  ['code', '<pre><code>@bob@b.test #tag</code></pre><p><code>#x</code></p>'],
  ['a quote', '<blockquote><p>@bob@b.test said #tag</p></blockquote>'],
  ['an address on the web', '<p>https://b.test/a-#x https://b.test/@bob@b.test gemini://b.test/#x b.test/#x</p>'],
  ['a number', '<p>#1 and #2026</p>'],
  ['a mark in a word', '<p>c#sharp a/#b ##c =#d</p>'],
  ['a character reference', '<p>&#39; &#x27;</p>'],
  ['what is longer than any tag', `<p>#${'a'.repeat(300)}</p>`],
])('replaceMentionsAndHashtags() finds nothing in %s', (_, html) => {
  expect(replaceMentionsAndHashtags(html, replacements)).toBe(html)
})

test.each(['@', '@a@', '@a@b.', '#', '#a', '# #', 'a', 'http://', '&#', '@a@b.c.', '·', '#·', '-@a@b-'])(
  'replaceMentionsAndHashtags() takes linear time for many "%s"',
  piece => {
    expect(measureGrowth(text => replaceMentionsAndHashtags(text, replacements), piece, 100_000)).toBeLessThan(30)
  },
)
