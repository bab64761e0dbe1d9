// Runs vitest on small test files that share one process.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..')

const describeFile = (endStatement: string) => `import { once } from 'node:events'
import { createServer } from 'node:net'
const server = createServer()
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => ${endStatement})
test('passes', () => {})`

test('a test file that leaves a server open fails, without failing the next file in the process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'leave-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const setUp = JSON.stringify(join(import.meta.dirname, 'restore-process.ts'))
  const shared = "globals: true, pool: 'forks', isolate: false, maxWorkers: 1"
  writeFileSync(join(folder, 'vitest.config.mjs'), `export default { test: { ${shared}, setupFiles: [${setUp}] } }`)
  writeFileSync(join(folder, 'a-leaves.test.mjs'), describeFile('{}'))
  writeFileSync(join(folder, 'b-closes.test.mjs'), describeFile('void setTimeout(() => server.close(), 100)'))
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--no-color']
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(stdout + stderr).toContain('this file leaves a server open')
  expect(stdout + stderr).toMatch(/FAIL +a-leaves\.test\.mjs/)
  expect(stdout + stderr).not.toMatch(/FAIL +b-closes/)
  expect(status).toBe(1)
})
