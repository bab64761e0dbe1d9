import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { environmentOf } from './program.ts'

const { folder, nodes } = inject('installation')
const place = mkdtempSync(join(tmpdir(), 'postern-exam-start-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const config = {
  origin: 'https://gateway.test',
  listen: { port: 0 },
  operator_token: 'an-operator-token-of-the-exam',
  agents: { echo: { use: 'builtin:echo' } },
}

/** Runs in the gateway before it does: writes the addresses of all files that were loaded, when the process ends. */
const listLoaded = `
import { registerHooks } from 'node:module'
import { writeFileSync } from 'node:fs'
const loaded = []
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
process.on('exit', () => writeFileSync('loaded.json', JSON.stringify(loaded)))
`

interface Started {
  /** Bytes when it listens. */
  readonly rss: number
  /** Addresses of the files that it has loaded. */
  readonly loaded: readonly string[]
}

/** Starts `postern start` with one agent and SQLite until it listens. */
async function startGateway(node: string): Promise<Started> {
  const workingDir = mkdtempSync(join(place, 'run-'))
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
  const own = files.filter(url => url.includes('/node_modules/postern/dist/'))
  expect(own.length).toBeGreaterThan(5)
  // Finding and linking a file costs a third of a millisecond; without groups there were a hundred.
  expect(own.length).toBeLessThanOrEqual(30)
  expect(files.filter(url => !/\/node_modules\/postern\/(?:bin|dist)\/|\/list-loaded\.mjs$/.test(url))).toEqual([])
  expect(files.filter(url => /\/(?:charsets|libmime|worker|thread)[^/]*\.js$/.test(url))).toEqual([])
})

test.runIf(process.platform === 'linux')('a gateway that has just started takes at most 110 MB', async () => {
  // What the machine does meanwhile moves it by some MB; the least of three is the gateway's own.
  const taken = [
    await startGateway(process.execPath),
    await startGateway(process.execPath),
    await startGateway(process.execPath),
  ]
  const least = Math.min(...taken.map(({ rss }) => rss))
  expect(least).toBeGreaterThan(60e6)
  expect(least).toBeLessThanOrEqual(110e6)
})
