// Starts Python servers.
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'

const python = process.env.TEST_PYTHON ?? 'python3'

/** The value of `WEBHOOK_SECRET` in the environment of the servers. */
export const webhookSecret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'

export interface PythonServer {
  readonly url: string
  /** Returns all that the server has printed. */
  log(): string
  stop(): void
}

/** Starts Python, and waits until it prints the address that it listens on. */
export async function startPython(args: readonly string[], environment: object = {}): Promise<PythonServer> {
  const env = { ...process.env, WEBHOOK_SECRET: webhookSecret, ...environment }
  const child = spawn(python, args, { env, cwd: tmpdir() })
  let log = ''
  const listening = Promise.withResolvers<string>()
  child.once('exit', status => listening.reject(new Error(`Python ended with ${status}: ${log}`)))
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', chunk => {
      log += String(chunk)
      const url = /running on (http:\S+:\d+)/i.exec(log)?.[1]
      if (url) listening.resolve(url)
    })
  }
  return { url: await listening.promise, log: () => log, stop: () => child.kill('SIGTERM') }
}

/** Starts Uvicorn. `app`: module and name, such as `agent:app`. */
export const startUvicorn = (folder: string, app: string, environment?: object) =>
  // Without -P, Python would prefer modules in its working directory to those of its libraries.
  startPython(['-P', '-m', 'uvicorn', app, '--host', '127.0.0.1', '--port', '0', '--app-dir', folder], environment)
