import { join } from 'node:path'
import { CannotRun, findMissingTools, hasCommand } from '../debian.ts'
import { tryCommand } from '../run-command.ts'

const packages = ['a2a-sdk[http-server,signing]==1.3.0', 'uvicorn==0.54.0']

/** A Python that has the official SDK, in an environment that this run alone has. @throws CannotRun */
export async function findA2aSdk(directory: string): Promise<string> {
  const missing = await findMissingTools()
  if (missing.length > 0) throw new CannotRun(`${missing.join(', ')}: not installed`)
  if (!(await hasCommand('python3'))) throw new CannotRun('python3 is not installed')
  const place = join(directory, 'python')
  await prepare('python3', ['-m', 'venv', place])
  const python = join(place, 'bin/python')
  await prepare(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  return python
}

async function prepare(program: string, parameters: readonly string[]): Promise<void> {
  const { status, text } = await tryCommand(program, parameters, { timeoutMs: 300_000 })
  if (status !== 0) throw new CannotRun(`${parameters.slice(0, 3).join(' ')} failed: ${text.trim().split('\n').at(-1)}`)
}
