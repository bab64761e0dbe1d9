// Keeps connections to hosts open, so that the next exchange with a host needs no new one.
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net'
import { connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createExpiringMap } from '@postern/limits'

/** The server at the far end of a connection. */
interface Endpoint {
  readonly isSecure: boolean
  /** A name, or an IP literal without brackets. */
  readonly host: string
  readonly port: number
}

/** The exchange that uses a connection. */
interface ExchangeListener {
  onBytes(bytes: Buffer): void
  /** Runs when the server sends no more, or the connection is lost. */
  onEnd(error?: Error): void
}

/** A connection, which carries one exchange at a time. */
export interface KeptConnection {
  readonly socket: Socket
  readonly key: string
  /** True after an earlier exchange. The server may close such a connection at any time. */
  isReused: boolean
  listener: ExchangeListener | undefined
}

export interface Connections {
  /** Returns an idle connection to the endpoint, or opens one. `lookup` finds the addresses for a new one. */
  take(endpoint: Endpoint, lookup: LookupFunction): KeptConnection
  /** Opens a connection. */
  open(endpoint: Endpoint, lookup: LookupFunction): KeptConnection
  /** Keeps a connection for the next exchange for so many ms. */
  release(connection: KeptConnection, idleMs: number): void
  /** Ends every connection, even those in use. */
  close(): void
}

/** The time for one connection attempt, long enough for the better address of a distant host. */
export const attemptTimeoutMs = 1_000
/** The number of TLS sessions that are kept, so that further connections to a host need no full handshake. */
const maxSessions = 100
const keepAliveInitialDelay = 1_000

/**
 * Creates the pool of connections. Idle ones do not keep the process alive. Connections of an endpoint always have the same lookup, so no kept connection
 * has passed weaker checks than its next user needs.
 */
export function createConnections(): Connections {
  const openSocket = createSocketOpener()
  const idleConnections = createIdleConnections()
  const openConnections = new Set<KeptConnection>()

  function open(endpoint: Endpoint, lookup: LookupFunction): KeptConnection {
    const key = formatKey(endpoint)
    const socket = openSocket(key, endpoint, lookup)
    const connection: KeptConnection = { socket, key, isReused: false, listener: undefined }
    let failure: Error | undefined
    openConnections.add(connection)
    socket
      .on('data', (bytes: Buffer) => {
        // Nobody has asked for bytes that arrive between exchanges.
        if (connection.listener) connection.listener.onBytes(bytes)
        else socket.destroy()
      })
      .on('timeout', () => socket.destroy())
      .on('error', error => {
        failure = error
      })
      .on('end', () => connection.listener?.onEnd())
      .on('close', () => {
        openConnections.delete(connection)
        idleConnections.remove(connection)
        connection.listener?.onEnd(failure)
      })
    return connection
  }

  return {
    open,
    take(endpoint, lookup) {
      const connection = idleConnections.take(formatKey(endpoint))
      if (!connection) return open(endpoint, lookup)
      connection.isReused = true
      connection.socket.setTimeout(0)
      connection.socket.ref()
      return connection
    },
    release(connection, idleMs) {
      const { socket } = connection
      // An early response may arrive before the request is sent.
      if (idleMs <= 0 || socket.writableLength > 0 || !socket.writable) return void socket.destroy()
      idleConnections.add(connection)
      socket.setTimeout(idleMs)
      socket.unref()
    },
    close() {
      for (const { socket } of openConnections) socket.destroy()
    },
  }
}

/** Creates the function that opens sockets. It keeps TLS sessions, and forgets one that has led to an error. */
function createSocketOpener() {
  const sessions = createExpiringMap<Buffer>(maxSessions)
  return (key: string, { isSecure, host, port }: Endpoint, lookup: LookupFunction): Socket => {
    const options: TcpNetConnectOpts = {
      ...{ host, port, lookup, noDelay: true, keepAlive: true, keepAliveInitialDelay },
      autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
    }
    if (!isSecure) return connect(options)
    const socket = connectTls({
      ...options,
      servername: isIP(host) ? '' : host,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      session: sessions.get(key),
    })
    return socket.on('session', session => sessions.set(key, session)).on('error', () => sessions.delete(key))
  }
}

/** Creates the lists of connections that wait for their next exchange. */
function createIdleConnections() {
  const connectionsByKey = new Map<string, KeptConnection[]>()
  function remove(connection: KeptConnection): void {
    const connections = connectionsByKey.get(connection.key)
    const index = connections?.indexOf(connection) ?? -1
    if (index >= 0) connections?.splice(index, 1)
    if (connections?.length === 0) connectionsByKey.delete(connection.key)
  }
  return {
    remove,
    add(connection: KeptConnection): void {
      const connections = connectionsByKey.get(connection.key)
      if (connections) connections.push(connection)
      else connectionsByKey.set(connection.key, [connection])
    },
    /** Takes the connection that was used last. One that has just ended is left out, because its end is not handled yet. */
    take(key: string): KeptConnection | undefined {
      const connection = connectionsByKey.get(key)?.findLast(({ socket }) => socket.readable && socket.writable)
      if (connection) remove(connection)
      return connection
    },
  }
}

/** Formats the key of an endpoint. Exchanges with the same key may share connections. */
function formatKey({ isSecure, host, port }: Endpoint): string {
  return `${isSecure ? 'https' : 'http'}://${host}:${port}`
}
