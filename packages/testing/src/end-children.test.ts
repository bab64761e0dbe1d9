// Runs vitest on a small file of its own, and kills the run before its end.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test, vi } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'end-children-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

writeFileSync(
  join(folder, 'vitest.config.mjs'),
  `export default { test: { globals: true, pool: 'forks', setupFiles: [${JSON.stringify(join(import.meta.dirname, 'end-children.ts'))}] } }`,
)
writeFileSync(
  join(folder, 'one.test.mjs'),
  `import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const stay = ['--eval', "process.on('SIGTERM', () => {}); console.log(0); setInterval(() => {}, 1000)"]
test('starts programs that stay', async () => {
  const children = [{}, { detached: true }].map(options => spawn(process.execPath, stay, { stdio: ['ignore', 'pipe', 'inherit'], ...options }))
  await Promise.all(children.map(child => new Promise(resolve => child.stdout.once('data', resolve))))
  writeFileSync(process.env.IDS, JSON.stringify({ worker: process.pid, children: children.map(({ pid }) => pid) }))
  await new Promise(resolve => setTimeout(resolve, 60_000))
}, 60_000)`,
)

/** Returns true while a process runs. A zombie does not count: it has ended, but its parent has not collected its exit status. */
function isAlive(id: number): boolean {
  return /^\s*[^Z\s]/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(id)], { encoding: 'utf8' }).stdout)
}

test.each([
  ['the run', 'SIGTERM'],
  ['the run', 'SIGINT'],
  ['the run', 'SIGKILL'],
  ['the worker', 'SIGKILL'],
] as const)('no program of a test survives when %s ends by %s', async (processName, signal) => {
  const ids = join(folder, `${processName} ${signal}`)
  const run = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder], {
    cwd: root,
    env: { ...process.env, IDS: ids },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const output = text(run.stdout)
  const exited = once(run, 'exit')
  await vi.waitFor(() => expect(existsSync(ids) && readFileSync(ids, 'utf8')).toMatch(/\}$/))
  const { worker, children } = JSON.parse(readFileSync(ids, 'utf8')) as { worker: number; children: number[] }
  expect([worker, ...children].every(isAlive)).toBe(true)
  process.kill(processName === 'the run' ? (run.pid as number) : worker, signal)
  await exited
  await vi.waitFor(() => expect([worker, ...children].filter(isAlive)).toEqual([]))
  // A reader of the output waits for every process that still holds it.
  await output
})
