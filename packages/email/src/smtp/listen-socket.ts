// Opens the TCP port or the Unix socket of the SMTP listener.
import { once } from 'node:events'
import { chmod, lstat, unlink } from 'node:fs/promises'
import type { Server } from 'node:net'
import { connect } from 'node:net'
import type { MailListenConfig } from '../config/servers.ts'

/**
 * Opens the configured port, or the Unix socket at `path`, whose port in the result is 0.
 * @throws Error of the system
 */
export async function openListenSocket(server: Server, config: MailListenConfig) {
  const { host, port = 0, path } = config
  if (path !== undefined) {
    await listenOnPath(server, path)
    return { description: path, port: 0 }
  }
  await listenWith(server, () => server.listen(port, host))
  const address = server.address()
  const boundPort = typeof address === 'object' && address ? address.port : port
  return { description: `${host}:${boundPort}`, port: boundPort }
}

/** Opens a socket for its owner and its group. It replaces the file of a process that was killed. */
async function listenOnPath(server: Server, path: string): Promise<void> {
  const listen = () => listenWith(server, () => server.listen(path))
  try {
    await listen()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || !(await isStaleSocket(path))) throw error
    await unlink(path)
    await listen()
  }
  await chmod(path, 0o660)
}

async function listenWith(server: Server, startListening: () => void): Promise<void> {
  const listeningEvent = once(server, 'listening')
  startListening()
  await listeningEvent
}

/** Returns true if the path is a socket, and not another kind of file, to which no server is bound. */
async function isStaleSocket(path: string): Promise<boolean> {
  if (!(await lstat(path)).isSocket()) return false
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}
