// Starts a measured server in a process of its own, on a core of its own where possible.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { pinCommand } from './cores.ts'

interface ServerOptions {
  /** The file that calls `serveMeasured`. */
  readonly entry: URL
  readonly setup: unknown
  /** The core that the process is pinned to; undefined leaves that to the operating system. */
  readonly core: number | undefined
  readonly nodeFlags?: readonly string[] | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
}

/** A measured server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number
  readonly pid: number
  /** The time from spawn to listening, ms. */
  readonly startMs: number
  sample(): Promise<Sample>
  /** Sends a command to the server and waits until it is done. The server runs one command at a time, and answers no `sample()` meanwhile. @throws Error with the child's message */
  work(order: unknown): Promise<unknown>
  stop(): Promise<void>
}

/** Starts a server. @throws Error with the child's own message if it does not start */
export async function startServer({
  entry,
  setup,
  core,
  nodeFlags = [],
  environment,
}: ServerOptions): Promise<ServerProcess> {
  const startedAt = performance.now()
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
    startMs: performance.now() - startedAt,
    async sample() {
      child.send({ kind: 'sample' })
      return expectKind(await nextMessage(child), 'sample')
    },
    async work(order) {
      child.send({ kind: 'work', order })
      return expectKind(await nextMessage(child), 'worked').result
    },
    stop: () => stopServer(child),
    [Symbol.asyncDispose]: () => stopServer(child),
  }
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.send({ kind: 'stop' })
  await exited
}

type MessageOf<Kind> = Extract<FromServer, { readonly kind: Kind }>

function expectKind<Kind extends FromServer['kind']>(message: FromServer, kind: Kind): MessageOf<Kind> {
  if (message.kind === kind) return message as MessageOf<Kind>
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

/** The resources that a measured server has used and the work that it has done so far. */
export interface Sample {
  /** The CPU time of the whole process with all its threads, µs. */
  readonly cpu: number
  /** The resident memory, bytes. */
  readonly rss: number
  /** The number of fully handled messages: stored, and passed through the agent if there is one. */
  readonly handled: number
}

export type FromServer =
  /** The server listens. */
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'failed'; readonly error: string }
  | (Sample & { readonly kind: 'sample' })
  /** An order is done. */
  | { readonly kind: 'worked'; readonly result: unknown }
export type ToServer =
  | { readonly kind: 'sample' }
  | { readonly kind: 'work'; readonly order: unknown }
  | { readonly kind: 'stop' }

/** Environment variable with the setup of a server child, as JSON. */
export const setupVariable = 'BENCH_SETUP'
