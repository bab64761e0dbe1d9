// Checks the size, files and entries of the packed package.
import { globSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, test } from 'vitest'
import { runInstalled } from './program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { tarball, folder, nodes } = inject('installation')
const installed = join(folder, 'node_modules/postern')
const megabyte = 1_000_000

const listFiles = (root: string) =>
  globSync('**/*', { cwd: root, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
const sizeOf = (files: readonly string[]) => files.reduce((sum, file) => sum + statSync(file).size, 0)

test('the package is at most 1.8 MB packed', () => {
  expect(statSync(tarball).size).toBeLessThanOrEqual(1.8 * megabyte)
})

test('the package and its required libraries take at most 60 MB', () => {
  const size = sizeOf(listFiles(join(folder, 'node_modules')))
  expect(size).toBeGreaterThan(10 * megabyte)
  expect(size).toBeLessThanOrEqual(60 * megabyte)
  for (const name of ['pg', '@grpc/grpc-js']) {
    expect(lstatSync(join(folder, 'node_modules', name), { throwIfNoEntry: false })).toBeUndefined()
  }
})

test('the package contains no path of the clone that built it', () => {
  expect(lstatSync(installed).isSymbolicLink()).toBe(false)
  const files = listFiles(installed)
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(file => readFileSync(file, 'utf8').includes(root))).toEqual([])
})

test('the package contains its licence, bundled libraries’ licences, the changelog and the documents', () => {
  const readInstalled = (path: string) => readFileSync(join(installed, path), 'utf8')
  expect(readInstalled('LICENSE')).toContain('MIT')
  expect(readInstalled('THIRD-PARTY-LICENCES.txt')).toMatch(/^mailparser \d/m)
  expect(readInstalled('CHANGELOG.md')).toContain(`## ${JSON.parse(readInstalled('package.json')).version}`)
  expect(readInstalled('docs/reference/configuration.md')).toContain('operator_token')
})

test('every relative link of a document leads to a file of the package', () => {
  const brokenLinks = globSync('**/*.md', { cwd: installed }).flatMap(path =>
    [...readFileSync(join(installed, path), 'utf8').matchAll(/\]\(([^)\s:#]+)(?:#[^)\s]*)?\)/g)]
      .map(([, link = '']) => join(installed, path, '..', link))
      .filter(target => !statSync(target, { throwIfNoEntry: false })),
  )
  expect(brokenLinks).toEqual([])
})

describe('--version', () => {
  test.each([
    ['the oldest Node that is supported', nodes.oldest],
    ['the Node of the project', process.execPath],
  ])('answers on %s', async (_, node) => {
    const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const result = await runInstalled(['--version'], { node, folder })
    expect(result).toEqual({ code: 0, output: `${version}\n`, errors: '' })
  })

  test('loads at most 100 KB of the bundle, to be fast', () => {
    const files = listStaticImports(join(installed, 'dist/main.js'))
    expect(sizeOf([...files])).toBeGreaterThan(10_000)
    expect(sizeOf([...files])).toBeLessThanOrEqual(100_000)
  })

  test('names the required Node version in one sentence on an older Node', async () => {
    const { code, output, errors } = await runInstalled(['--version'], { node: nodes.tooOld, folder })
    expect({ code, output }).toEqual({ code: 1, output: '' })
    expect(errors).toMatch(/^Postern needs Node 24\.11 or later; this is v22\.[\d.]+\. Install [^\n]+\.\n$/)
  })
})

/** Lists a file of the bundle and everything that it imports before it runs. */
function listStaticImports(file: string, visited: Set<string> = new Set()): ReadonlySet<string> {
  visited.add(file)
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+)["']/g)) {
    const importedPath = join(file, '..', name)
    if (!visited.has(importedPath)) listStaticImports(importedPath, visited)
  }
  return visited
}
