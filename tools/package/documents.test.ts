import { expect, test } from 'vitest'
import { keepLinks } from './documents.ts'

const targets = new Set(['README.md', 'docs/agents.md', 'docs/reference/message.md', 'examples/python/agent.py'])

test.each([
  ['[agents](docs/agents.md)', 'README.md', '[agents](docs/agents.md)'],
  [
    '[a](agents.md#a-model) [b](reference/message.md)',
    'docs/web.md',
    '[a](agents.md#a-model) [b](reference/message.md)',
  ],
  [
    '[examples](../examples), [one](../examples/python/)',
    'docs/web.md',
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
  ['[code](../packages/core), [rules](conformance/a2a.md#r1)', 'docs/a2a.md', 'code, rules'],
])('keepLinks() leaves only the words of a link that leads elsewhere: %s', (text, from, kept) => {
  expect(keepLinks(text, from, targets)).toBe(kept)
})
