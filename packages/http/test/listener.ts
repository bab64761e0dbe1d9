// Runs an HTTP server on loopback that counts requests and connections.
import type { Server as HttpServer, IncomingMessage, RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'

export interface TestListener {
  readonly port: number
  readonly requests: readonly IncomingMessage[]
  connections(): number
  close(): Promise<void>
}

export async function openHttpListener(answer: RequestListener): Promise<TestListener> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  // Connections end when the client wants them to.
  server.keepAliveTimeout = 60_000
  return listenOn(server, requests)
}

/** Opens a listener for answers that no HTTP server would give: `handleSocket` gets the socket. */
export async function openTcpListener(handleSocket: (socket: Socket) => void): Promise<TestListener> {
  const server = createTcpServer(socket => {
    socket.on('error', () => undefined)
    handleSocket(socket)
  })
  return listenOn(server, [])
}

export async function listenOn(
  server: Server | HttpServer,
  requests: readonly IncomingMessage[],
): Promise<TestListener> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket.once('close', () => sockets.delete(socket)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    connections: () => connections,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
