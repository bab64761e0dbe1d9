import { expect, test } from 'vitest'
import { findStaleFileNames } from './readme-files.ts'

const paths = ['packages/p/src/a/b.ts', 'packages/q/src/c.ts', 'packages/p/README.md']
const staleIn = (text: string, path = 'packages/p/README.md') => findStaleFileNames([{ path, text }], paths)

test('a README may name files of its package by partial paths, and others from the root', () => {
  expect(staleIn('`b.ts`, `a/b.ts`, `src/a/b.ts`, `packages/q/src/c.ts`')).toEqual([])
})

test('a README with another package’s partial path, or a missing file, is stale', () => {
  expect(staleIn('`c.ts` and `gone.ts`')).toEqual([
    'packages/p/README.md names c.ts, which is not there',
    'packages/p/README.md names gone.ts, which is not there',
  ])
})

test('the check covers only READMEs', () => {
  expect(staleIn('`gone.ts`', 'docs/guides/a.md')).toEqual([])
})
