import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { copyDocuments, keepLinks } from './documents.ts'

const targets = new Set(['README.md', 'docs/guides/model.md', 'docs/reference/message.md', 'examples/python/agent.py'])

test.each([
  ['[agents](docs/guides/model.md)', 'README.md', '[agents](docs/guides/model.md)'],
  [
    '[a](guides/model.md#settings) [b](reference/message.md)',
    'docs/README.md',
    '[a](guides/model.md#settings) [b](reference/message.md)',
  ],
  [
    '[examples](../examples), [one](../examples/python/)',
    'docs/README.md',
    '[examples](../examples), [one](../examples/python/)',
  ],
  [
    '[site](https://example.com/x) [here](#below) [mail](mailto:a@b.c)',
    'README.md',
    '[site](https://example.com/x) [here](#below) [mail](mailto:a@b.c)',
  ],
])('keepLinks() keeps a link to a packaged file: %s', (text, from, expectedText) => {
  expect(keepLinks(text, from, targets)).toBe(expectedText)
})

test.each([
  ['see [why](docs/decisions/0001.md).', 'README.md', 'see why.'],
  ['![the flow](docs/images/flow.png)', 'README.md', ''],
  ['[code](../packages/message), [rules](conformance/a2a.md#r1)', 'docs/a2a.md', 'code, rules'],
])('keepLinks() reduces other links to their text, and removes pictures: %s', (text, from, expectedText) => {
  expect(keepLinks(text, from, targets)).toBe(expectedText)
})

test('copyDocuments() copies the tracked files of examples, without local environments', () => {
  const root = mkdtempSync(join(tmpdir(), 'postern-documents-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const writeDocument = (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), 'x')
  }
  const packagedPaths = ['LICENSE', 'docs/guides/a/model.md', 'examples/town/agent.py']
  for (const path of [...packagedPaths, 'apps/gateway/bin/README.md', 'docs/decisions/1.md']) writeDocument(path)
  execFileSync('git', ['init', '--quiet'], { cwd: root })
  execFileSync('git', ['add', '.'], { cwd: root })
  for (const path of ['examples/town/venv/lib/x.py', 'examples/town/postern-data/store.db']) writeDocument(path)
  const folder = join(root, 'package')
  copyDocuments(root, folder)
  const files = [...globSync('**/*.*', { cwd: folder }), ...globSync('LICENSE', { cwd: folder })]
  expect(files.toSorted()).toEqual([...packagedPaths, 'README.md'].toSorted())
})
