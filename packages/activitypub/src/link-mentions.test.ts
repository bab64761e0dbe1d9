import { expect, test } from 'vitest'
import { linkMentions } from './link-mentions.ts'

const bob = { href: 'https://b.test/u/bob', name: '@bob@b.test', url: 'https://b.test/@bob' }
const carol = { href: 'https://c.test/u/carol', name: '@carol@c.test', url: 'https://c.test/@carol' }
const write = ({ name }: { readonly name: string }) => `<a>${name}</a>`

test('mentionable §8.1 addressing: a name in the text is linked, and who is not named is found missing', () => {
  const { html, missing } = linkMentions('<p>Ask @Bob@b.test, he knows. (@bob@b.test)</p>', [bob, carol], write)
  expect(html).toBe('<p>Ask <a>@bob@b.test</a>, he knows. (<a>@bob@b.test</a>)</p>')
  expect(missing).toEqual([carol])
})

test.each([
  ['a longer name', '<p>@bob@b.test.evil.test</p>'],
  ['another user', '<p>x@bob@b.test @notbob@b.test</p>'],
  ['an address of mail', '<p>bob@b.test</p>'],
  ['what stands in a link', '<p><a href="https://b.test/@bob@b.test">@bob@b.test</a></p>'],
  ['code', '<pre><code>@bob@b.test</code></pre><p>see above</p>'],
])('linkMentions() takes %s for nobody', (_what, html) => {
  expect(linkMentions(html, [bob], write)).toEqual({ html, missing: [bob] })
})

test('linkMentions() ends a name before the full stop', () => {
  expect(linkMentions('<p>Thanks, @bob@b.test.</p>', [bob], write).html).toBe('<p>Thanks, <a>@bob@b.test</a>.</p>')
})
