// Runs vitest on small files of its own, and checks the last line of its output.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'closing-line-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const config = join(folder, 'vitest.config.mjs')
writeFileSync(
  config,
  `import { ClosingLineReporter } from ${JSON.stringify(join(import.meta.dirname, 'closing-line-reporter.ts'))}
export default { test: { globals: true, reporters: ['default', new ClosingLineReporter()] } }`,
)

interface RunResult {
  readonly line: string | undefined
  readonly code: number
}

/** Runs one file and returns its last line and exit code. */
function runFile(body: string): Promise<RunResult> {
  writeFileSync(join(folder, 'one.test.mjs'), body)
  return runReporter(folder)
}

async function runReporter(directory: string): Promise<RunResult> {
  const args = ['run', '--root', directory, '--config', config]
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { line: output.trimEnd().split('\n').at(-1), code }
}

const fail = "() => { throw new Error('no') }"

test.each([
  ['passes', "test('one', () => {})", '1 passed, 0 failed', 0],
  ['has a failed test', `test('one', () => {}); test('two', ${fail})`, '1 passed, 1 failed', 1],
  ['fails in beforeAll()', `beforeAll(${fail}); test('one', () => {})`, '0 passed, 1 failed, 1 skipped', 1],
  [
    'fails in beforeAll() of a group',
    `test('one', () => {}); describe('group', () => { beforeAll(${fail}); test('two', () => {}) })`,
    '1 passed, 1 failed, 1 skipped',
    1,
  ],
  ['fails in afterAll()', `afterAll(${fail}); test('one', () => {})`, '1 passed, 1 failed', 1],
  ['does not load', "throw new Error('no')", '0 passed, 1 failed', 1],
  ['has no test', '', '0 passed, 1 failed', 1],
  ['leaves a rejection behind', `test('one', () => { Promise.reject(new Error('no')) })`, '1 passed, 1 failed', 1],
])('the last line for a file that %s has the same counts as vitest', async (_, body, line, code) => {
  expect(await runFile(body)).toEqual({ line, code })
})

test('a run without files does not say that nothing failed', async () => {
  const empty = mkdtempSync(join(folder, 'empty-'))
  expect(await runReporter(empty)).toEqual({ line: '0 passed, 1 failed', code: 1 })
})
