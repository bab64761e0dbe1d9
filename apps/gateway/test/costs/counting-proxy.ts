// Counts how often a client waits for its database server.
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A proxy to a database server that counts how often its client waits. */
export interface CountingProxy {
  readonly port: number
  /**
   * Counts the round trips since the proxy opened: requests that the client sent after the previous answer. A request that the client sends before
   * that answer causes no further wait. Nobody waits for the connection over which gateways exchange notices.
   */
  readRounds(): number
  close(): Promise<void>
}

export async function openCountingProxy(to: number): Promise<CountingProxy> {
  const sockets = new Set<Socket>()
  let rounds = 0
  const server = createServer({ noDelay: true }, clientSocket => {
    const serverSocket = connect({ port: to, host: '127.0.0.1', noDelay: true })
    let isAnswered = true
    let isForNotices = false
    clientSocket.on('data', (chunk: Buffer) => {
      isForNotices ||= chunk.includes('LISTEN ')
      if (isAnswered && !isForNotices) rounds += 1
      isAnswered = false
    })
    serverSocket.on('data', () => (isAnswered = true))
    for (const [source, target] of [
      [clientSocket, serverSocket],
      [serverSocket, clientSocket],
    ] as const) {
      sockets.add(source)
      source.pipe(target)
      source.on('error', () => target.destroy())
      source.on('close', () => {
        sockets.delete(source)
        target.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    readRounds: () => rounds,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
