// Runs the installed program and starts a dev gateway from it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

interface RunOptions {
  readonly node: string
  /** The working directory; the package is installed in it or above it. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
}

interface ProgramResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

const programOf = (folder: string) => join(folder, 'node_modules/postern/bin/postern.mjs')

/** Returns the environment of a user: only the variables of the test's own process that programs need. */
export function environmentOf({ node, environment = {} }: RunOptions): NodeJS.ProcessEnv {
  const { HOME, PATH } = process.env
  return { HOME, PATH: `${dirname(node)}:${PATH}`, ...environment }
}

/** Runs a command of the package until it ends. */
export async function runInstalled(args: readonly string[], options: RunOptions): Promise<ProgramResult> {
  return runProgram(options.node, [programOf(options.folder), ...args], options)
}

export async function runProgram(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Promise<ProgramResult> {
  const child = spawn(program, args, {
    cwd: options.folder,
    env: environmentOf(options),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, output, errors }
}

export interface DevGateway {
  /** The address of the gateway, such as `http://127.0.0.1:40001`. */
  readonly url: string
  /** The operator's token. */
  readonly token: string
  /** Returns the output so far. */
  readonly log: () => string
  stop(): Promise<void>
}

/** Starts `postern dev` on free ports and waits until it listens. */
export async function startDev(options: RunOptions): Promise<DevGateway> {
  const environment = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0', ...options.environment }
  const child = spawn(options.node, [programOf(options.folder), 'dev'], {
    cwd: options.folder,
    env: environmentOf({ ...options, environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  const exited = once(child, 'exit')
  const listening = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        log += chunk
        if (/^ {2}token\s+\S+\n/m.test(log)) resolve(log)
      })
    }
    child.once('exit', code => reject(new Error(`postern dev ended with ${code}: ${log}`)))
  })
  await listening
  return {
    url: /listens on (\S+)/.exec(log)?.[1] ?? '',
    token: /^ {2}token\s+(\S+)$/m.exec(log)?.[1] ?? '',
    log: () => log,
    async stop() {
      child.kill()
      await exited
    },
  }
}
