// Creates Python environments with uv.
import { join } from 'node:path'
import { CannotRun, hasCommand } from './debian.ts'
import { tryCommand } from './run-command.ts'

// The version of uv, which installs in seconds the packages that take pip a minute.

const uvVersion = '0.13.8'

/** Creates an environment for this run alone; `packages` are arguments of `uv pip install`. @throws CannotRun */
type CreateEnvironment = (name: string, packages: readonly string[]) => Promise<PythonEnvironment>

interface PythonEnvironment {
  /** The path of the environment's interpreter. */
  readonly python: string
}

/** Returns a function that creates environments in `directory`. @throws CannotRun */
export async function openPythonEnvironments(directory: string): Promise<CreateEnvironment> {
  if (!(await hasCommand('python3'))) throw new CannotRun('python3 is not installed')
  const tools = join(directory, 'python-tools')
  await prepare('python3', ['-m', 'venv', tools])
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `uv==${uvVersion}`]
  await prepare(join(tools, 'bin/python'), pip)
  const uv = join(tools, 'bin/uv')
  return async (name, packages) => {
    const environment = join(directory, name)
    const python = join(environment, 'bin/python')
    await prepare(uv, ['venv', '--quiet', '--python', 'python3', environment])
    await prepare(uv, ['pip', 'install', '--quiet', '--python', python, ...packages])
    return { python }
  }
}

async function prepare(program: string, parameters: readonly string[]): Promise<void> {
  const { status, text } = await tryCommand(program, parameters, { timeoutMs: 300_000 })
  if (status !== 0) throw new CannotRun(`${parameters.slice(0, 3).join(' ')} failed: ${text.trim().split('\n').at(-1)}`)
}
