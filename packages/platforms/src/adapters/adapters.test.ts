import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAdapter } from './adapters.ts'

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'postern-adapters-'))

/** Installs a package with one module in a folder, as npm would. */
function installPackage(baseDir: string, library: string, manifest: object, code: string): void {
  const folder = join(baseDir, 'node_modules', library)
  mkdirSync(join(folder, 'dist'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: library, type: 'module', ...manifest }))
  writeFileSync(join(folder, 'dist/index.js'), code)
}

test('loadAdapter() names the missing package and the command that installs it', async () => {
  const baseDir = emptyFolder()
  const library = '@chat-adapter/that-nobody-installs'
  await expect(loadAdapter({ name: 'slack', library, baseDir })).rejects.toMatchObject({
    key: 'platforms.slack',
    message: `platforms.slack: needs the package "${library}", which is not installed. Run in ${baseDir}: npm i ${library}`,
  })
})

test('loadAdapter() prefers the package beside the configuration file, and falls back to the own installation', async () => {
  const request = { name: 'slack', library: '@chat-adapter/slack' }
  const ownLibrary = await loadAdapter({ ...request, baseDir: emptyFolder() })
  expect(ownLibrary).toHaveProperty('createSlackAdapter')
  const baseDir = emptyFolder()
  installPackage(
    baseDir,
    request.library,
    { exports: { '.': { import: './dist/index.js' } } },
    'export const from = "here"',
  )
  expect(await loadAdapter({ ...request, baseDir })).toMatchObject({ from: 'here' })
})

test('loadAdapter() reads the entry of a package without exports, and reports one that fails', async () => {
  const baseDir = emptyFolder()
  installPackage(baseDir, 'plain-adapter', { main: './dist/index.js' }, 'export const from = "main"')
  expect(await loadAdapter({ name: 'slack', library: 'plain-adapter', baseDir })).toMatchObject({ from: 'main' })
  installPackage(baseDir, 'broken-adapter', { main: './dist/index.js' }, 'throw new Error("no such thing")')
  await expect(loadAdapter({ name: 'slack', library: 'broken-adapter', baseDir })).rejects.toThrow(
    'platforms.slack: the package "broken-adapter" cannot be loaded (no such thing)',
  )
})
