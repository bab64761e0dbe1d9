import { expect, test } from 'vitest'
import { keepLinks } from './documents.ts'

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
])('keepLinks() keeps a link to what the package holds: %s', (text, from, kept) => {
  expect(keepLinks(text, from, targets)).toBe(kept)
})

test.each([
  ['see [why](docs/decisions/0001.md).', 'README.md', 'see why.'],
  ['![the flow](docs/images/flow.png)', 'README.md', ''],
  ['[code](../packages/core), [rules](conformance/a2a.md#r1)', 'docs/a2a.md', 'code, rules'],
])('keepLinks() leaves only the words of a link that leads elsewhere, and no picture: %s', (text, from, kept) => {
  expect(keepLinks(text, from, targets)).toBe(kept)
})
