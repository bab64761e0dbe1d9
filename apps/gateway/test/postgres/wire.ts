import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A way to a server on loopback that can fall silent, as when a switch dies: nothing comes through, and nothing ends. */
export interface Wire {
  readonly port: number
  silence(): void
  speak(): void
  close(): Promise<void>
}

export async function openWire(to: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  let isSilent = false

  function join(from: Socket, other: Socket): void {
    sockets.add(from)
    from.on('data', chunk => other.write(chunk))
    from.on('error', () => other.destroy())
    from.on('close', () => {
      sockets.delete(from)
      other.destroy()
    })
    if (isSilent) from.pause()
  }

  const server = createServer(near => {
    const far = connect(to, '127.0.0.1')
    join(near, far)
    join(far, near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
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
