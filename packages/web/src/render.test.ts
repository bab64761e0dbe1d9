import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import { listFiles, writeBlock } from './render.ts'

const file = (name: string, url: string): Part => ({ kind: 'file', name, bytes_ref: { kind: 'url', url } })
const link = (title: string, url: string): Part => ({ kind: 'link', title, url })

test.each([
  ['a link', link('A', 'https://x.test/a'), '[A](https://x.test/a)'],
  ['a link with brackets in its title', link('[A](b)', 'https://x.test/(a)'), '[\\[A\\](b)](https://x.test/%28a%29)'],
  ['a title that ends in a backslash', link('A\\', 'https://x.test/a'), '[A\\\\](https://x.test/a)'],
  ['a link that a browser would run', link('A', 'javascript:alert(1)'), 'A'],
  ['a file', file('a.txt', 'https://x.test/a.txt'), '[a.txt](https://x.test/a.txt)'],
  [
    'a file that is named like a link',
    file('x](javascript:alert(1))[', 'https://x.test/a'),
    '[x\\](javascript:alert(1))\\[](https://x.test/a)',
  ],
  ['a file at an address that a browser would run', file('a.txt', 'javascript:alert(1)'), 'a.txt'],
  ['a file at no address', file('a.txt', 'a b'), 'a.txt'],
])('writeBlock() writes %s', (_, part, written) => {
  expect(writeBlock(part, undefined)).toBe(written)
})

test('listFiles() omits URLs that a browser would execute', () => {
  const files = listFiles([file('a', 'javascript:alert(1)'), file('b', 'https://x.test/b')], undefined)
  expect(files).toEqual([
    { kind: 'file', name: 'a' },
    { kind: 'file', name: 'b', url: 'https://x.test/b' },
  ])
})
