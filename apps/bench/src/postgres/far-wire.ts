// Forwards TCP connections with a delay, to simulate a distant database.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { listenOnFreePort } from '../servers/loopback.ts'

interface WireData {
  /** The port of the server. */
  readonly to: number
  /** The delay in each direction, ms; up to a millisecond is added, because a timer is no finer. */
  readonly delayMs: number
}

/** Opens a slow connection to a server on loopback, in a thread of its own, because its traffic must not wait for the load. */
export async function openFarWire(data: WireData) {
  const worker = new Worker(new URL(import.meta.url), { workerData: data })
  const [port] = (await once(worker, 'message')) as [number]
  return { port, close: async () => void (await worker.terminate()) }
}

function forward(from: Socket, target: Socket, delayMs: number): void {
  from.on('data', chunk => setTimeout(() => target.write(chunk), delayMs))
  from.on('error', () => target.destroy())
  from.on('close', () => setTimeout(() => target.destroy(), delayMs))
}

function serve({ to, delayMs }: WireData): Promise<number> {
  const server = createServer({ noDelay: true }, near => {
    const far = connect({ port: to, host: '127.0.0.1', noDelay: true })
    forward(near, far, delayMs)
    forward(far, near, delayMs)
  })
  return listenOnFreePort(server)
}

if (parentPort) parentPort.postMessage(await serve(workerData as WireData))
