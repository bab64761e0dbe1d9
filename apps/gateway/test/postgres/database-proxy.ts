// Puts a proxy in front of a database server that can fall silent or lose notifications.
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A proxy to a server on loopback that can fall silent, as when a switch dies: no data passes, and no connection ends. */
export interface DatabaseProxy {
  readonly port: number
  /** Returns the number of notifications that were dropped. */
  readonly lostHints: () => number
  silence(): void
  speak(): void
  close(): Promise<void>
}

/** Opens the proxy. With `losesHints` it drops the notifications that the server sends. */
export async function openDatabaseProxy(to: number, { losesHints = false } = {}): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>()
  let isSilent = false
  let lostHints = 0
  const count = () => (lostHints += 1)

  function connectSockets(from: Socket, otherSocket: Socket, pass = (chunk: Buffer) => chunk): void {
    sockets.add(from)
    from.on('data', chunk => otherSocket.write(pass(chunk)))
    from.on('error', () => otherSocket.destroy())
    from.on('close', () => {
      sockets.delete(from)
      otherSocket.destroy()
    })
    if (isSilent) from.pause()
  }

  const server = createServer(clientSocket => {
    const serverSocket = connect(to, '127.0.0.1')
    connectSockets(clientSocket, serverSocket)
    connectSockets(serverSocket, clientSocket, losesHints ? createNotificationFilter(count) : undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    lostHints: () => lostHints,
    silence() {
      isSilent = true
      for (const socket of sockets) socket.pause()
    },
    speak() {
      isSilent = false
      for (const socket of sockets) socket.resume()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The type of NotificationResponse in version 3 of the protocol: a letter, followed by the length of the rest. */
const notification = 'A'.charCodeAt(0)

/** Returns a filter that passes whole messages of a server, except for its notifications. */
function createNotificationFilter(count: () => void): (chunk: Buffer) => Buffer {
  let buffered: Buffer = Buffer.alloc(0)
  return chunk => {
    buffered = Buffer.concat([buffered, chunk])
    const chunks: Buffer[] = []
    while (buffered.length >= 5 && buffered.length > buffered.readUInt32BE(1)) {
      const end = 1 + buffered.readUInt32BE(1)
      if (buffered[0] === notification) count()
      else chunks.push(buffered.subarray(0, end))
      buffered = buffered.subarray(end)
    }
    return Buffer.concat(chunks)
  }
}
