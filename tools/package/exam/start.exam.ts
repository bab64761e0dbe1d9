// Measures the start of `postern start` from the packed package, and the files that it loads.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { environmentOf } from './program.ts'

const { folder, nodes } = inject('installation')
const directory = mkdtempSync(join(tmpdir(), 'postern-exam-start-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const config = {
  origin: 'https://gateway.test',
  listen: { port: 0 },
  operator_token: 'an-operator-token-of-the-exam',
  agents: { echo: { use: 'builtin:echo' } },
}

/** This module is loaded before the gateway, and writes the addresses of all loaded files when the process ends. */
const listLoaded = `
import { registerHooks } from 'node:module'
import { writeFileSync } from 'node:fs'
const loaded = []
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
process.on('exit', () => writeFileSync('loaded.json', JSON.stringify(loaded)))
`

interface GatewayStart {
  /** The resident memory when it listens, bytes. */
  readonly rss: number
  /** The addresses of the files that it has loaded. */
  readonly loaded: readonly string[]
}

/** Runs `postern start` with one agent and SQLite until it listens. */
async function startGateway(node: string): Promise<GatewayStart> {
  const workingDir = mkdtempSync(join(directory, 'run-'))
  writeFileSync(join(workingDir, 'postern.config.json'), JSON.stringify(config))
  writeFileSync(join(workingDir, 'list-loaded.mjs'), listLoaded)
  symlinkSync(join(folder, 'node_modules'), join(workingDir, 'node_modules'))
  const program = join(folder, 'node_modules/postern/bin/postern.mjs')
  const child = spawn(node, ['--max-semi-space-size=8', '--import', './list-loaded.mjs', program, 'start'], {
    cwd: workingDir,
    env: environmentOf({ node, folder: workingDir }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (/listens on http/.test(output)) break
  }
  const rss = process.platform === 'linux' ? readResident(child.pid ?? 0) : Number.NaN
  child.kill()
  await exited
  return { rss, loaded: JSON.parse(readFileSync(join(workingDir, 'loaded.json'), 'utf8')) }
}

function readResident(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

test.each([
  ['the oldest Node that is supported', nodes.oldest],
  ['the Node of the project', process.execPath],
])('a start loads no library that only messages need, on %s', async (_, node) => {
  const { loaded } = await startGateway(node)
  const files = loaded.filter(url => url.startsWith('file:'))
  const ownFiles = files.filter(url => url.includes('/node_modules/postern/dist/'))
  expect(ownFiles.length).toBeGreaterThan(5)
  // Finding and linking a file costs a third of a millisecond; without groups there were a hundred.
  expect(ownFiles.length).toBeLessThanOrEqual(30)
  expect(files.filter(url => !/\/node_modules\/postern\/(?:bin|dist)\/|\/list-loaded\.mjs$/.test(url))).toEqual([])
  expect(files.filter(url => /\/(?:charsets|libmime|worker|thread)[^/]*\.js$/.test(url))).toEqual([])
})

test.runIf(process.platform === 'linux')('a newly started gateway takes at most 120 MB', async () => {
  // Other work of the machine changes the value by some MB, so the lowest of three counts.
  const starts = [
    await startGateway(process.execPath),
    await startGateway(process.execPath),
    await startGateway(process.execPath),
  ]
  const minRss = Math.min(...starts.map(({ rss }) => rss))
  expect(minRss).toBeGreaterThan(60e6)
  expect(minRss).toBeLessThanOrEqual(120e6)
})
