import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import MarkdownIt from 'markdown-it'
import { afterAll, describe, expect, test } from 'vitest'
import { joinForModels, listForModels } from './extra-files.ts'
import { readRepositoryUrl, useRepositoryLinks } from './links.ts'
import { findOrphans, readSections } from './sections.ts'

const root = mkdtempSync(join(tmpdir(), 'postern-site-'))
afterAll(() => rmSync(root, { recursive: true }))

const pages: Readonly<Record<string, string>> = {
  'README.md': '# Home\n',
  'guides/README.md':
    '# Guides\n\nBegin with [write](write.md#first).\n\n## Run it\n\n- [deploy](more/deploy.md)\n- [write](write.md)\n',
  'guides/write.md': '---\ntitle: x\n---\n# Write an `agent`\n\nYou write a file. It answers.\n',
  'guides/more/deploy.md': '# Deploy\n\nYou deploy it.\n',
  'guides/lost.md': '# Lost\n',
  'reference/keys.md': '# Keys\n\nAll keys.\n',
  'old.md': '# Old\n',
  'decisions/README.md': '# Decisions\n\n[1](0001-one.md)\n',
  'decisions/0001-one.md': '# 0001 One\n\nWhy.\n',
}
for (const [path, text] of Object.entries(pages)) {
  const file = join(root, 'docs', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
const docs = join(root, 'docs')
const readPage = (path: string) => pages[path] ?? ''

test('a README lists its folder’s pages in order and by its headings, unlike a folder without one', () => {
  expect(readSections(docs)).toEqual([
    {
      title: 'Guides',
      folder: 'guides',
      index: 'guides/',
      groups: [
        { title: '', pages: [{ title: 'Write an agent', path: 'guides/write.md' }] },
        { title: 'Run it', pages: [{ title: 'Deploy', path: 'guides/more/deploy.md' }] },
      ],
    },
    {
      title: 'Reference',
      folder: 'reference',
      groups: [{ title: '', pages: [{ title: 'Keys', path: 'reference/keys.md' }] }],
    },
    {
      title: 'Decisions',
      folder: 'decisions',
      index: 'decisions/',
      groups: [{ title: '', pages: [{ title: '0001 One', path: 'decisions/0001-one.md' }] }],
    },
  ])
})

test('a page without a link in a README is an orphan, and so is a page outside the folders', () => {
  expect(findOrphans(docs, () => false)).toEqual([
    'docs/guides/lost.md:1  orphan  "Lost"  (link it in docs/guides/README.md, where the sidebar takes its pages from)',
    'docs/old.md:1  orphan  "Old"  (move it into one of start, guides, reference, explanation, conformance, decisions)',
  ])
  expect(findOrphans(docs, path => path === 'docs/old.md')).toHaveLength(1)
})

test('llms.txt lists every page with its first sentence, and llms-full.txt has all pages except records', () => {
  const pageList = listForModels(readSections(docs), readPage)
  expect(pageList).toMatch(/^# Postern\n\n> /)
  expect(pageList).toContain('## Guides\n\n- [Write an agent](/guides/write.md): You write a file.\n- [Deploy]')
  expect(pageList).toContain('## Optional: Decisions\n\n- [0001 One](/decisions/0001-one.md): Why.\n')
  const full = joinForModels(readSections(docs), readPage)
  expect(full).toContain('<!-- guides/write.md -->\n\n# Write an `agent`\n')
  expect(full).not.toContain('Why.')
})

describe('useRepositoryLinks()', () => {
  const render = (text: string, relativePath: string, repository?: string) => {
    const parser = new MarkdownIt()
    useRepositoryLinks(parser, { root, repository })
    return parser.renderInline(text, { relativePath })
  }

  test.each([
    ['[x](more/deploy.md#how)', '<a href="more/deploy.md#how">x</a>'],
    ['[x](../reference/keys.md)', '<a href="../reference/keys.md">x</a>'],
    ['[x](../decisions/)', '<a href="../decisions/index.md">x</a>'],
    ['[x](../decisions/README.md#y)', '<a href="../decisions/index.md#y">x</a>'],
    ['[x](../README.md)', '<a href="../index.md">x</a>'],
    ['[x](https://example.com/)', '<a href="https://example.com/">x</a>'],
    ['[x](#here)', '<a href="#here">x</a>'],
  ])('turns %s into a page', (text, html) => {
    expect(render(text, 'guides/write.md')).toBe(html)
  })

  test('turns a file outside the site into plain text, or a link if the repository is known', () => {
    const text = 'See [the `code`](../../apps/x.ts).'
    expect(render(text, 'guides/write.md')).toBe(
      'See <span class="repository-file" title="apps/x.ts in the repository">the <code>code</code></span>.',
    )
    expect(render(text, 'guides/index.md', 'https://git.example/p')).toBe(
      'See <a href="https://git.example/p/blob/main/apps/x.ts">the <code>code</code></a>.',
    )
  })
})

test.each([
  [undefined, undefined],
  ['owner/name', 'https://github.com/owner/name'],
  [{ url: 'git+https://git.example/owner/name.git' }, 'https://git.example/owner/name'],
  ['git@git.example:owner/name.git', 'https://git.example/owner/name'],
])('the site derives from the repository %j the URL %j', (repository, url) => {
  const folder = mkdtempSync(join(root, 'package-'))
  cpSync(docs, join(folder, 'docs'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ repository }))
  expect(readRepositoryUrl(folder)).toBe(url)
})
