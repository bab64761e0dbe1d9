import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CannotRun, hasCommand } from '../peers/debian.ts'
import { runCommand, tryCommand } from '../peers/run-command.ts'

// `npm run test:python`: clients/python as a wheel in an environment of its own: its types, its tests, and agents behind real servers that a real
// gateway calls. Nothing is installed on the machine.

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const client = join(root, 'clients/python')
const packages = [
  ...readFileSync(join(root, 'examples/langgraph-python/requirements.txt'), 'utf8').trim().split('\n'),
  'standardwebhooks==1.1.0',
  'mypy==2.4.1',
  'pydantic-ai-slim[ag-ui]==2.68.0',
]
const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check']

/** A Python that has the wheel and the servers. @throws CannotRun */
async function createEnvironment(directory: string): Promise<string> {
  if (!(await hasCommand('python3'))) throw new CannotRun('python3 is not installed')
  await prepare('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))'])
  await prepare('python3', ['-m', 'venv', join(directory, 'venv')])
  const python = join(directory, 'venv/bin/python')
  await prepare(python, [...pip, 'install', ...packages])
  // Setuptools writes beside what it builds.
  const source = join(directory, 'source')
  cpSync(client, source, { recursive: true, filter: path => !/\/(build|[^/]*\.egg-info|__pycache__)$/.test(path) })
  await runCommand(python, [...pip, 'wheel', '--no-deps', '-w', directory, source], { timeoutMs: 300_000 })
  await runCommand('sh', ['-c', `${python} ${pip.join(' ')} install --no-index ${directory}/postern_agent-*.whl`])
  return python
}

/** What fails here is missing on the machine or not to be had. @throws CannotRun */
async function prepare(program: string, parameters: readonly string[]): Promise<void> {
  const { status, text } = await tryCommand(program, parameters, { timeoutMs: 300_000 })
  if (status !== 0)
    throw new CannotRun(`${program} ${parameters.slice(0, 3).join(' ')}: ${text.trim().split('\n').at(-1)}`)
}

/** Outside of the repository, where only the installed wheel can be found. */
async function run(program: string, parameters: readonly string[], options: object): Promise<boolean> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn(program, parameters, { stdio: 'inherit', env, ...options })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status === 0
}

async function runSuite(python: string, directory: string): Promise<boolean> {
  const tests = ['-m', 'unittest', 'discover', '-s', join(client, 'tests/agent')]
  const types = ['-m', 'mypy', '--strict', '-p', 'postern_agent', join(root, 'examples/fastapi/agent.py')]
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '-c', 'vitest.python.config.ts']
  const env = { ...process.env, TEST_PYTHON: python }
  const passed = [
    await run(python, types.slice(0, 5), { cwd: directory }),
    await run(python, [...types.slice(0, 3), ...types.slice(5)], { cwd: directory }),
    await run(python, tests, { cwd: directory }),
    await run(process.execPath, [...vitest, ...process.argv.slice(2)], { cwd: root, env }),
  ]
  return passed.every(Boolean)
}

/** An example shall take two minutes from its installation to an answer. This environment has the libraries of all, and CI works on other things beside it. */
const goalMs = 120_000

const directory = mkdtempSync(join(tmpdir(), 'postern-python-'))
try {
  const begun = performance.now()
  const python = await createEnvironment(directory)
  const installMs = performance.now() - begun
  const verdict = installMs > goalMs ? `; the goal for one example is ${goalMs / 1_000} s` : ''
  process.stdout.write(`all examples in Python: ${(installMs / 1_000).toFixed(1)} s to install${verdict}\n`)
  const passed = await runSuite(python, directory)
  process.exitCode = passed ? 0 : 1
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:python: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
