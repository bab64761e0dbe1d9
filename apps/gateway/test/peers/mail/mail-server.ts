// Starts any mail server of the exam.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { canConnect, waitUntil } from '../eventually.ts'
import { mailPorts } from './names.ts'

/** A mail server for people.test that passes the agents' mail to us and accepts the mail that we send. */
export interface MailServer {
  readonly name: string
  /** TXT records of the programs that sign the mail that passes through it. */
  readonly records?: readonly { readonly name: string; readonly value: string }[]
  /** The path of the socket by which it passes mail to us; absent for TCP. */
  readonly socketPath?: string
  log(): string
  stop(): Promise<void>
}

interface ServerPlan {
  readonly name: string
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  readonly logPath: string
}

/** Starts a server in a process group of its own, all of which ends with it. @throws Error when it does not listen */
export async function startMailServer({ name, command, env, logPath }: ServerPlan): Promise<MailServer> {
  const [program, ...parameters] = command
  const child = spawn(program, parameters, { env: { ...process.env, ...env }, detached: true })
  const exit = once(child, 'exit')
  let output = ''
  const read = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const log = () => output + (existsSync(logPath) ? readFileSync(logPath, 'utf8') : '')
  await waitUntil(`${name} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${log()}`)
    return canConnect(mailPorts.server)
  })
  return {
    name,
    log,
    async stop() {
      if (child.pid) process.kill(-child.pid, 'SIGTERM')
      await exit
      await waitUntil(`${name} is gone`, async () => !(await canConnect(mailPorts.server)))
    },
  }
}
