import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createFindDeclaration, splitNames, toSpecifier } from './declared-names.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-declarations-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('createFindDeclaration() follows re-exports through index files and renamed exports', () => {
  mkdirSync(join(folder, 'a/deep'), { recursive: true })
  writeFileSync(
    join(folder, 'a/index.d.ts'),
    'export type { Outer, Plain } from \'./deep/index.ts\';\nexport { own } from "./own.ts";',
  )
  writeFileSync(join(folder, 'a/deep/index.d.ts'), "export { type Inner as Outer,\n  Plain } from './leaf.ts'")
  writeFileSync(join(folder, 'a/deep/leaf.d.ts'), 'export type Inner = 1; export type Plain = 2')
  writeFileSync(join(folder, 'a/own.d.ts'), 'export const own: 1')
  const findDeclaration = createFindDeclaration(folder)
  expect(findDeclaration('a/index.d.ts', 'Outer')).toEqual({ file: 'a/deep/leaf.d.ts', name: 'Inner' })
  expect(findDeclaration('a/index.d.ts', 'Plain')).toEqual({ file: 'a/deep/leaf.d.ts', name: 'Plain' })
  expect(findDeclaration('a/index.d.ts', 'own')).toEqual({ file: 'a/own.d.ts', name: 'own' })
  expect(findDeclaration('a/own.d.ts', 'own')).toEqual({ file: 'a/own.d.ts', name: 'own' })
})

test('splitNames() parses types, renamed names and lists over several lines', () => {
  expect(splitNames(' type A,\n B as C, ')).toEqual([
    { name: 'A', as: 'A' },
    { name: 'B', as: 'C' },
  ])
})

test('toSpecifier() returns the JavaScript file of a declaration file', () => {
  expect(toSpecifier('a/b/x.d.ts', 'a/b/y.d.ts')).toBe('./y.js')
  expect(toSpecifier('a/b/x.d.ts', 'c/y.d.ts')).toBe('../../c/y.js')
})
