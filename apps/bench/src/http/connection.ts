// Opens HTTP/1.1 connections that cost the load generator next to nothing.
import { once } from 'node:events'
import { connect } from 'node:net'
import type { HttpAnswer } from './message.ts'
import { parseAnswer } from './message.ts'

/** One kept-alive HTTP/1.1 connection that costs the load generator next to nothing. */
export interface Connection {
  /** Writes a whole request and waits for its answer. Handles one request at a time. */
  exchange(request: Uint8Array): Promise<HttpAnswer>
  close(): void
}

export async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  let pending: Buffer = Buffer.alloc(0)
  let waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined
  socket.on('data', chunk => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const answer = parseAnswer(pending)
    if (!answer) return
    pending = pending.subarray(answer.end)
    waiting?.resolve(answer)
  })
  socket.on('error', error => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')))
  return {
    exchange: request =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      }),
    close: () => void socket.destroy(),
  }
}
