import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, cpus } from 'node:os'

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
export interface ServerProcess extends AsyncDisposable {
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

/** How much a measured server has used and done so far. */
export interface Sample {
  /** CPU time of the whole process with all its threads, µs. */
  readonly cpu: number
  /** Resident memory, bytes. */
  readonly rss: number
  /** Messages that went the whole way: stored, and through the agent where there is one. */
  readonly handled: number
}

export type FromServer =
  /** It listens. */
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'failed'; readonly error: string }
  | (Sample & { readonly kind: 'sample' })
  /** An order is done. */
  | { readonly kind: 'worked'; readonly result: unknown }
export type ToServer =
  | { readonly kind: 'sample' }
  | { readonly kind: 'work'; readonly order: unknown }
  | { readonly kind: 'stop' }

/** Where a server child finds its setup, as JSON. */
export const setupVariable = 'BENCH_SETUP'

/** Which core the measured server gets to itself, and which one everything else keeps to. */
export interface Cores {
  readonly server: number
  readonly load: number
}

/** Undefined where there is no `taskset` or only one core: the operating system then decides. */
export function findCores(): Cores | undefined {
  const hasTaskset = spawnSync('taskset', ['--version']).status === 0
  return hasTaskset && availableParallelism() > 1 ? { server: 0, load: 1 } : undefined
}

/** The command, kept to one core with all its threads. */
function pinCommand(command: readonly string[], core: number | undefined): readonly string[] {
  return core === undefined ? command : ['taskset', '-c', String(core), ...command]
}

/** Keeps the main thread of this process to one core. Its thread pool stays free: it signs between the rounds. */
export function pinThisThread(core: number): void {
  spawnSync('taskset', ['-pc', String(core), String(process.pid)])
}

/** Lets it go where it likes again, and with it what it starts from now on. */
export function freeThisThread(): void {
  spawnSync('taskset', ['-pc', `0-${cpus().length - 1}`, String(process.pid)])
}
