// `npm run test:python`: clients/python as a wheel in an environment of its own: its types, its tests, and agents behind real servers that a real
// gateway calls. Nothing is installed on the machine.
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packPackages } from '../deploy/pack-packages.ts'
import { listBlocks, readCodeBlocks } from '../docs/blocks.ts'
import { CannotRun } from '../peers/debian.ts'
import { openPythonEnvironments } from '../peers/python-environment.ts'
import { runCommand, tryCommand } from '../peers/run-command.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const client = join(root, 'clients/python')
const examples = join(root, 'examples')
const packages = [
  ...['langgraph-python', 'town'].flatMap(readRequirements),
  'standardwebhooks==1.1.0',
  'mypy==2.4.1',
  'pytest==9.2.0',
  'pydantic-ai-slim[ag-ui]==2.68.0',
]

function readRequirements(example: string): readonly string[] {
  return readFileSync(join(examples, example, 'requirements.txt'), 'utf8')
    .trim()
    .split('\n')
}

/** Copies sources without anything that was built or installed next to them. */
function copySources(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: path => !/\/(build|[^/]*\.egg-info|__pycache__)$/.test(path) })
}

/** Creates a Python environment that has the client, as a wheel, and the servers. @throws CannotRun */
async function createEnvironment(directory: string): Promise<string> {
  const createPython = await openPythonEnvironments(directory)
  const { status } = await tryCommand('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))'])
  if (status !== 0) throw new CannotRun('python3 is older than 3.11')
  // Setuptools writes files next to its sources.
  const source = join(directory, 'source')
  copySources(client, source)
  const { python } = await createPython('venv', [...packages, source])
  return python
}

/** Runs a program outside of the repository, where only the installed wheel can be found. */
async function runProgram(program: string, parameters: readonly string[], options: object): Promise<boolean> {
  const child = spawn(program, parameters, { stdio: 'inherit', ...options })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status === 0
}

/** Writes each Python block of the guides, and of the README of the client, to a file that bears its page and line. */
function writeGuides(directory: string): readonly string[] {
  const readme = listBlocks('clients/python/README.md', readFileSync(join(client, 'README.md'), 'utf8'))
  const blocks = [...readCodeBlocks(), ...readme].filter(({ language }) => language === 'python')
  mkdirSync(directory)
  return blocks.map(({ page, line, code }) => {
    const path = join(directory, `${page.replace(/\.md$/, '').replace(/\W/g, '_')}_${line}.py`)
    writeFileSync(path, code)
    return path
  })
}

/** Checks the types of all examples, and that the check notices a wrong one. */
async function checkGuides(python: string, directory: string): Promise<boolean> {
  const mypyArguments = ['-m', 'mypy', '--check-untyped-defs', '--ignore-missing-imports', '--scripts-are-modules']
  const guides = writeGuides(join(directory, 'guides'))
  const invalidFile = join(directory, 'wrong.py')
  writeFileSync(
    invalidFile,
    'from postern_agent import Reply\nreply: Reply = {"parts": [{"kind": "file", "name": 1}]}\n',
  )
  const noticed = await tryCommand(python, [...mypyArguments, invalidFile], { timeoutMs: 120_000 })
  if (noticed.status === 0) process.stdout.write('mypy takes a wrong reply\n')
  return (await runProgram(python, [...mypyArguments, ...guides], { cwd: directory })) && noticed.status !== 0
}

/** Writes the project of the guide, whose blocks begin with the names of its files. */
function writeGuideProject(directory: string): string {
  const blocks = readCodeBlocks().filter(
    ({ page, language }) => page === 'docs/guides/python.md' && language === 'python',
  )
  mkdirSync(directory)
  for (const { code } of blocks) {
    const [, name] = /^# (\w+\.py)\n/.exec(code) ?? []
    if (name !== undefined) writeFileSync(join(directory, name), code)
  }
  return directory
}

/** Checks and tests the town as a user has it: outside of the clone, with the packed gateway. */
async function checkTown(python: string, folder: string): Promise<boolean> {
  copySources(join(examples, 'town'), folder)
  const build = packPackages(join(dirname(folder), 'build'))
  const [tarball = ''] = globSync('postern-[0-9]*.tgz', { cwd: build })
  const options = ['--prefix', folder, '--no-audit', '--no-fund']
  await runCommand('npm', ['install', ...options, join(build, tarball), '@modelcontextprotocol/sdk'], {
    timeoutMs: 300_000,
  })
  const gateway = `'${process.execPath}' '${join(folder, 'node_modules/postern/bin/postern.mjs')}'`
  const modules = globSync('*.py', { cwd: folder })
  const env = { ...process.env, GATEWAY_COMMAND: gateway }
  const results = [
    await runProgram(python, ['-m', 'mypy', '--strict', '--ignore-missing-imports', ...modules], { cwd: folder }),
    await runProgram(python, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], { cwd: folder, env }),
  ]
  return results.every(Boolean)
}

async function runSuite(python: string, directory: string): Promise<boolean> {
  const tests = ['-m', 'unittest', 'discover', '-s', join(client, 'tests/agent')]
  const types = ['-m', 'mypy', '--strict']
  const typed = [join(examples, 'fastapi/agent.py'), join(client, 'tests/typed/replies.py')]
  const pytest = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider']
  const project = writeGuideProject(join(directory, 'project'))
  const gateway = `'${process.execPath}' '${join(root, 'apps/gateway/bin/postern.mjs')}'`
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'python']
  const env = { ...process.env, TEST_PYTHON: python, GATEWAY_COMMAND: gateway }
  const results = [
    await runProgram(python, [...types, '-p', 'postern_agent'], { cwd: directory }),
    await runProgram(python, [...types, ...typed], { cwd: directory }),
    await checkGuides(python, directory),
    await runProgram(python, tests, { cwd: directory }),
    await runProgram(python, [...pytest, join(client, 'tests/gateway')], { cwd: directory, env }),
    await runProgram(python, pytest, { cwd: project, env }),
    await checkTown(python, join(directory, 'town')),
    await runProgram(process.execPath, [...vitest, ...process.argv.slice(2)], { cwd: root, env }),
  ]
  return results.every(Boolean)
}

const directory = mkdtempSync(join(tmpdir(), 'postern-python-'))
// Python compiles each module once for all its processes, and writes nothing into the clone.
process.env.PYTHONPYCACHEPREFIX = join(directory, 'compiled')
try {
  const startedAt = performance.now()
  const python = await createEnvironment(directory)
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  process.stdout.write(`all examples in Python: ${seconds} s to install with uv\n`)
  const hasPassed = await runSuite(python, directory)
  process.exitCode = hasPassed ? 0 : 1
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:python: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
