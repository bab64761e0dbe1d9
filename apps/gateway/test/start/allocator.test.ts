import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const tell = 'console.log(JSON.stringify([process.pid, process.env.MALLOC_TRIM_THRESHOLD_, process.execArgv[0]]))'
const flag = '--max-semi-space-size=8'

/** What each program that this process becomes says of itself; there is no configuration to go on with. */
async function launch(command: string, environment: NodeJS.ProcessEnv = {}) {
  const args = [
    flag,
    '--import',
    `data:text/javascript,${encodeURIComponent(tell)}`,
    program,
    command,
    '--config',
    'none',
  ]
  const { MALLOC_TRIM_THRESHOLD_: _, ...env } = process.env
  const child = spawn(process.execPath, args, { cwd: tmpdir(), env: { ...env, ...environment } })
  child.stderr.resume()
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const lines = output.split('\n').filter(line => line.startsWith('['))
  return { pid: child.pid, told: lines.map(line => JSON.parse(line)) }
}

test.runIf(process.platform === 'linux')(
  'a gateway that starts gives memory back to the system, as the same process',
  async () => {
    const { pid, told } = await launch('start')
    expect(told).toEqual([
      [pid, null, flag],
      [pid, '131072', flag],
    ])
  },
)

test.runIf(process.platform === 'linux')('the operator’s own memory setting stays', async () => {
  const { pid, told } = await launch('start', { MALLOC_TRIM_THRESHOLD_: '1000000' })
  expect(told.at(-1)).toEqual([pid, '1000000', flag])
})

test('a command that does not serve begins once', async () => {
  const { told } = await launch('status')
  expect(told).toHaveLength(1)
})

test.runIf(process.platform === 'linux')(
  'the program that a person or a service runs begins once, with all settings',
  async () => {
    const { MALLOC_TRIM_THRESHOLD_: _, MALLOC_ARENA_MAX: __, ...env } = process.env
    const path = `${dirname(process.execPath)}:${env.PATH}`
    const options = `--import=data:text/javascript,${encodeURIComponent(tell)}`
    const child = spawn(program, ['start', '--config', 'none'], {
      cwd: tmpdir(),
      env: { ...env, PATH: path, NODE_OPTIONS: options },
    })
    child.stderr.resume()
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    const lines = output.split('\n').filter(line => line.startsWith('['))
    expect(lines.map(line => JSON.parse(line))).toEqual([[child.pid, '131072', flag]])
  },
)
