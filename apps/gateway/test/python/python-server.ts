import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'

const python = process.env.TEST_PYTHON ?? 'python3'

/** What the servers have in `WEBHOOK_SECRET`. */
export const webhookSecret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'

export interface PythonServer {
  readonly url: string
  /** What it printed. */
  log(): string
  stop(): void
}

/** Runs Python until it says where it listens. */
export async function startPython(words: readonly string[], environment: object = {}): Promise<PythonServer> {
  const own = { WEBHOOK_SECRET: webhookSecret, PYTHONDONTWRITEBYTECODE: '1' }
  const env = { ...process.env, ...own, ...environment }
  const child = spawn(python, words, { env, cwd: tmpdir() })
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

/** `app`: module and name, such as `agent:app`. */
export const startUvicorn = (folder: string, app: string, environment?: object) =>
  startPython(['-m', 'uvicorn', app, '--host', '127.0.0.1', '--port', '0', '--app-dir', folder], environment)
