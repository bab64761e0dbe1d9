// Follows docs/start/tutorial.md up to the server.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { install } from './install-packages.ts'
import type { DevGateway } from './program.ts'
import { runInstalled, runProgram, startDev } from './program.ts'

const { tarball, folder, nodes } = inject('installation')
const node = nodes.oldest
const project = join(folder, 'millbrook')
const page = readFileSync(join(import.meta.dirname, '../../../docs/start/tutorial.md'), 'utf8')

/** Reads the module that the page shows for a path of the project. */
function readModule(path: string): string {
  const [, code = ''] = page.match(new RegExp(`^\`\`\`ts\\n(// ${path}\\n[\\s\\S]*?)^\`\`\`$`, 'm')) ?? []
  return code
}

/** Returns the commands of the page with this beginning, as lists of arguments. */
function listCommands(commandStart: string): readonly (readonly string[])[] {
  const lines = page.split('\n').filter(line => line.startsWith(`npx postern ${commandStart}`))
  return lines.map(line => (line.match(/"[^"]*"|\S+/g) ?? []).slice(2).map(word => word.replaceAll('"', '')))
}

let gateway: DevGateway
const runInProject = (args: readonly string[]) => runInstalled(args, { node, folder: project })

beforeAll(async () => {
  const [init = []] = listCommands('init')
  // The page begins in a clone, and the exam in a folder where the package is installed.
  const initResult = await runInstalled(
    init.map(word => word.replace('../', '')),
    { node, folder },
  )
  expect(initResult).toMatchObject({ code: 0, errors: '' })
  await install(project, [tarball])
  for (const path of ['agents/office.ts', 'agents/office.test.ts']) writeFileSync(join(project, path), readModule(path))
  gateway = await startDev({ node, folder: project })
})
afterAll(async () => {
  await gateway?.stop()
  rmSync(project, { recursive: true, force: true })
})

test('the agent and its test have correct types, and the test passes', async () => {
  const program = (path: string, args: readonly string[]) =>
    runProgram(node, [join(project, 'node_modules', path), ...args], { node, folder: project })
  expect((await program('typescript/bin/tsc', [])).output).toBe('')
  expect((await program('vitest/vitest.mjs', ['run'])).output).toMatch(/4 passed/)
})

test('the office answers, asks, and continues after approval', async () => {
  const [hours = [], goat = []] = listCommands('send')
  expect((await runInProject(hours)).output).toContain('nine to four')
  const { output } = await runInProject(goat)
  const link = /https:\/\/millbrook\.example(\/actions\/\S+)/.exec(output)?.[1] ?? ''
  const response = await fetch(`${gateway.url}${link}`, {
    method: 'POST',
    body: new URLSearchParams({ decision: 'grant' }),
  })
  expect(response.status).toBe(200)
  await expect
    .poll(async () => (await runInProject(['messages'])).output, { timeout: 60_000, interval: 500 })
    .toMatch(/answered\s+policy_resolution/)
})

test('the gateway refuses a forged mail, and the agent rejects an unproven one', async () => {
  const [, , forged = [], unproven = []] = listCommands('send')
  expect((await runInProject(forged)).output).toContain('(refused)')
  expect((await runInProject(unproven)).output).toContain('Please write from an address that proves who you are.')
  expect((await runInProject(['refusals'])).output).toContain('dmarc_rejected')
  expect((await runInProject(['why', '@alice@alice.test'])).output).toContain('@alice@alice.test')
})
