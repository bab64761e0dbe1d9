// Forwards TCP connections with a delay, to simulate a distant database.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { listenOnFreePort } from '../servers/loopback.ts'

interface DelayedProxyOptions {
  /** The port of the server. */
  readonly targetPort: number
  /** The delay in each direction, ms; up to a millisecond is added, because a timer is no finer. */
  readonly delayMs: number
}

/** Opens a proxy in front of a server on loopback, in a thread of its own, because its traffic must not wait for the load. */
export async function openDelayedProxy(data: DelayedProxyOptions) {
  const worker = new Worker(new URL(import.meta.url), { workerData: data })
  const [port] = (await once(worker, 'message')) as [number]
  return { port, close: async () => void (await worker.terminate()) }
}

function forward(source: Socket, target: Socket, delayMs: number): void {
  source.on('data', chunk => setTimeout(() => target.write(chunk), delayMs))
  source.on('error', () => target.destroy())
  source.on('close', () => setTimeout(() => target.destroy(), delayMs))
}

function serve({ targetPort, delayMs }: DelayedProxyOptions): Promise<number> {
  const proxy = createServer({ noDelay: true }, client => {
    const target = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    forward(client, target, delayMs)
    forward(target, client, delayMs)
  })
  return listenOnFreePort(proxy)
}

if (parentPort) parentPort.postMessage(await serve(workerData as DelayedProxyOptions))
