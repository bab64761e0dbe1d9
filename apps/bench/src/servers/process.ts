import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pinCommand } from './pinning.ts'
import type { FromServer, Sample } from './protocol.ts'
import { setupVariable } from './protocol.ts'

interface ServerOptions {
  /** The file that calls `serveMeasured`. */
  readonly entry: URL
  readonly setup: unknown
  /** Core the process is kept to; undefined leaves that to the operating system. */
  readonly core: number | undefined
  readonly nodeFlags?: readonly string[] | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
}

/** A measured server in a process of its own. */
export interface ServerProcess {
  readonly port: number
  readonly pid: number
  /** From spawn to listening, ms. */
  readonly startMs: number
  sample(): Promise<Sample>
  /** Gives it an order and waits until it is done. One thing at a time: no sample meanwhile. @throws Error in the child's words */
  work(order: unknown): Promise<unknown>
  stop(): Promise<void>
}

/** @throws Error with the child's own words when it does not come up */
export async function startServer({
  entry,
  setup,
  core,
  nodeFlags = [],
  environment,
}: ServerOptions): Promise<ServerProcess> {
  const begun = performance.now()
  const [command = '', ...args] = pinCommand([process.execPath, ...nodeFlags, entry.pathname], core)
  const child = spawn(command, args, {
    env: { ...process.env, ...environment, [setupVariable]: JSON.stringify(setup), NODE_ENV: 'production' },
    // Log lines are written as in production, and thrown away.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ready = await nextMessage(child)
  if (ready.kind !== 'ready') {
    child.kill()
    throw new Error(`${entry.pathname} did not start: ${ready.kind === 'failed' ? ready.error : ready.kind}`)
  }
  return {
    port: ready.port,
    pid: child.pid ?? 0,
    startMs: performance.now() - begun,
    async sample() {
      child.send({ kind: 'sample' })
      return expectKind(await nextMessage(child), 'sample')
    },
    async work(order) {
      child.send({ kind: 'work', order })
      return expectKind(await nextMessage(child), 'worked').result
    },
    async stop() {
      if (child.exitCode !== null) return
      const exited = once(child, 'exit')
      child.send({ kind: 'stop' })
      await exited
    },
  }
}

function expectKind<Kind extends FromServer['kind']>(
  message: FromServer,
  kind: Kind,
): Extract<FromServer, { readonly kind: Kind }> {
  if (message.kind === kind) return message as Extract<FromServer, { readonly kind: Kind }>
  throw new Error(message.kind === 'failed' ? message.error : `unexpected answer: ${JSON.stringify(message)}`)
}

function nextMessage(child: ChildProcess): Promise<FromServer> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a measured server ended early (exit code ${code})`))
    child.once('exit', onExit)
    child.once('message', message => {
      child.off('exit', onExit)
      resolve(message as FromServer)
    })
  })
}
