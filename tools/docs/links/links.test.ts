import { describe, expect, test } from 'vitest'
import { checkLinks, listAnchors, slugify } from './check-links.ts'

const page = (path: string, text: string) => ({ path, text })

describe('checkLinks()', () => {
  const otherPage = page('docs/guides/other.md', '# Other page\n\n## A `code` heading\n\n## Twice\n\n## Twice\n')
  const files = ['README.md', 'docs/a.md', 'docs/guides/other.md', 'docs/images/one.svg']
  const listBrokenLinks = (text: string) => checkLinks([page('docs/a.md', text), otherPage], files)

  test.each([
    ['a file that is not there', '[x](guides/none.md)', 'docs/guides/none.md is not there'],
    ['an anchor that no heading has', '\n[x](guides/other.md#none)', 'docs/guides/other.md has no heading for it'],
    ['an anchor of its own page', '# Title\n\nSee [x](#titel)', 'docs/a.md has no heading for it'],
    ['a picture', '![x](images/two.svg)', 'docs/images/two.svg is not there'],
    ['a picture in HTML', '<img src="images/two.svg">', 'docs/images/two.svg is not there'],
    [
      'a path from the root',
      '[x](/guides/other)',
      'write a path relative to the page: the repository has no such root',
    ],
    ['a path out of the repository', '[x](../../x)', 'it leaves the repository'],
  ])('finds %s', (_, text, fault) => {
    expect(listBrokenLinks(text)).toEqual([expect.stringMatching(/^docs\/a\.md:[123] {2}link /)])
    expect(listBrokenLinks(text)[0]).toContain(`(${fault})`)
  })

  test.each([
    '[x](guides/other.md#a-code-heading), [y](guides/other.md#twice-1), [z](../README.md)',
    '[folder](guides/), ![x](images/one.svg), [w](https://example.com/none), [m](mailto:a@b.example)',
    '`[x](none.md)`\n\n```\n[x](none.md)\n```\n',
  ])('finds nothing in %s', text => {
    expect(listBrokenLinks(text)).toEqual([])
  })
})

test('the links of the npm package’s README start at its root', () => {
  const readme = page('apps/gateway/bin/README.md', '[x](docs/a.md) [y](docs/b.md)')
  expect(checkLinks([readme], ['docs/a.md'])).toEqual([expect.stringContaining('docs/b.md is not there')])
})

test('anchors have GitHub’s form', () => {
  expect(slugify('No answer? Ask `why`!')).toBe('no-answer-ask-why')
  expect(slugify('A2A: cards & keys_of')).toBe('a2a-cards--keys_of')
  expect([...listAnchors('# One\n\n## One\n\n<a id="two"></a>\n')]).toEqual(['one', 'one-1', 'two'])
})
