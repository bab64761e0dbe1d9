import { expect, test } from 'vitest'
import { findStaleFileNames } from './readme-files.ts'

const paths = ['packages/p/src/a/b.ts', 'packages/q/src/c.ts', 'packages/p/README.md']
const staleIn = (text: string, path = 'packages/p/README.md') => findStaleFileNames([{ path, text }], paths)

test('a README may name files of its own package by the end of their paths, and others from the root', () => {
  expect(staleIn('`b.ts`, `a/b.ts`, `src/a/b.ts`, `packages/q/src/c.ts`')).toEqual([])
})

test('a README that names a file of another package, or none, is stale', () => {
  expect(staleIn('`c.ts` and `gone.ts`')).toEqual([
    'packages/p/README.md names c.ts, which is not there',
    'packages/p/README.md names gone.ts, which is not there',
  ])
})

test('other checks read other documents', () => {
  expect(staleIn('`gone.ts`', 'docs/guides/a.md')).toEqual([])
})
