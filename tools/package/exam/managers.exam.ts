// Installs the package with each package manager, and starts a gateway by the launcher that the manager wrote.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { downloadPackages, isDebianRoot, unpackPackages } from '../../../apps/gateway/test/peers/debian.ts'
import { install } from './install-packages.ts'

const { tarball, folder } = inject('installation')
const directory = mkdtempSync(join(tmpdir(), 'postern-exam-managers-'))
const programs = join(directory, 'programs')
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const managers = {
  pnpm: { file: 'pnpm/bin/pnpm.mjs', add: ['add', tarball], run: ['exec', 'postern'] },
  yarn1: { file: 'yarn/bin/yarn.js', add: ['add', `file:${tarball}`], run: ['--silent', 'postern'] },
  yarn4: { file: '@yarnpkg/cli-dist/bin/yarn.js', add: ['add', `postern@file:${tarball}`], run: ['postern'] },
} as const

const config = {
  origin: 'https://gateway.test',
  listen: { port: 0 },
  operator_token: 'an-operator-token-of-the-exam',
  agents: { echo: { use: 'builtin:echo' } },
}

const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
const env = { HOME: process.env.HOME, PATH }

beforeAll(() => install(programs, ['pnpm@12.21.0', 'yarn@1.22.22', '@yarnpkg/cli-dist@4.18.1']))

/** Runs a manager that adds the package. @throws Error with the manager's output, because yarn prints its errors to standard output */
function addPackage(args: readonly string[], cwd: string): void {
  // A registry that fails to answer once does not mean that the package is at fault.
  const patient = { ...process.env, PATH, YARN_HTTP_RETRY: '10' }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, env: patient, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
}

/** Runs a command, and ends it. Returns true if it starts a gateway that listens. */
async function startsGateway(file: string, args: readonly string[], cwd: string): Promise<boolean> {
  writeFileSync(join(cwd, 'postern.config.json'), JSON.stringify(config))
  // The package manager may be the parent of the gateway, so the signal goes to the whole process group.
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const exited = once(child, 'exit')
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (/listens on http/.test(output)) break
  }
  if (child.exitCode === null) process.kill(-Number(child.pid))
  await exited
  return /listens on http/.test(output)
}

test.each(Object.entries(managers))(
  '%s installs the package, and its launcher starts a gateway',
  async (name, manager) => {
    const ownFolder = join(directory, name)
    mkdirSync(ownFolder)
    writeFileSync(join(ownFolder, 'package.json'), '{ "private": true }\n')
    writeFileSync(join(ownFolder, 'yarn.lock'), '')
    const program = join(programs, 'node_modules', manager.file)
    addPackage([program, ...manager.add], ownFolder)
    const args = [program, ...manager.run, 'start']
    expect(await startsGateway(process.execPath, args, ownFolder)).toBe(true)
  },
)

test('the launcher of npm starts a gateway', async () => {
  const ownFolder = join(directory, 'npm')
  mkdirSync(ownFolder)
  expect(await startsGateway(join(folder, 'node_modules/.bin/postern'), ['start'], ownFolder)).toBe(true)
})

test.runIf(await isDebianRoot())('the shebang line of the program works with BusyBox’s env, as on Alpine', async () => {
  const config = join(directory, 'busybox')
  const { archives } = await downloadPackages(join(directory, 'debian'), [['busybox-static']])
  await unpackPackages(config, [archives])
  const program = join(folder, 'node_modules/postern/bin/postern.mjs')
  // The kernel passes everything after the interpreter as one argument.
  const [, interpreter = ''] =
    /^#!\/usr\/bin\/env (.+)$/m.exec(readFileSync(program, 'utf8').split('\n')[0] ?? '') ?? []
  const ownFolder = join(directory, 'alpine')
  mkdirSync(ownFolder)
  expect(await startsGateway(join(config, 'bin/busybox'), ['env', interpreter, program, 'start'], ownFolder)).toBe(true)
})
