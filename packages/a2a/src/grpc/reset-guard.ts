// Closes connections that open streams only to reset them (CVE-2023-44487).
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'

interface ResetGuardOptions {
  /** The port of the listener. The guard ignores other servers of the process. */
  readonly port: number
  now(): number
  /** Counts a stream that is no call as a request of its address. @throws Rejection `rate_limited` */
  limitAddress(address: string): void
  /** Returns true if streams of this path are counted when their call begins. */
  isCall(path: string): boolean
  /** Handles a connection that was closed. */
  onClosed(address: string): void
}

interface Connection {
  readonly address: string
  openedCount: number
  resetCount: number
  isClosing: boolean
}

interface StreamNotice {
  readonly stream: ServerHttp2Stream
  readonly headers?: Readonly<Record<string, unknown>> | undefined
}

/** The most early resets of a connection. More are allowed up to half of its streams, because clients can have short deadlines. */
const maxResets = 100
/** The age, in ms, from which a reset stream does not count as an early reset. */
const earlyMs = 1_000

const [createdChannel, closedChannel] = ['http2.server.stream.created', 'http2.server.stream.close'] as const

/** Starts the guard. @returns the function that ends it */
export function guardResets({ port, now, limitAddress, isCall, onClosed }: ResetGuardOptions): () => void {
  const connections = new WeakMap<ServerHttp2Session, Connection>()
  const streams = new WeakMap<ServerHttp2Stream, { readonly session: ServerHttp2Session; readonly openedAt: number }>()

  function findConnection(session: ServerHttp2Session): Connection | undefined {
    const openConnection = connections.get(session)
    if (openConnection) return openConnection
    const { localPort, remoteAddress } = session.socket
    if (localPort !== port || remoteAddress === undefined) return undefined
    const connection = { address: remoteAddress, openedCount: 0, resetCount: 0, isClosing: false }
    connections.set(session, connection)
    return connection
  }

  function closeConnection(session: ServerHttp2Session, connection: Connection): void {
    if (connection.isClosing) return
    connection.isClosing = true
    // grpc-js first gets the new streams of this connection, because it throws if it answers a destroyed stream.
    setImmediate(() => {
      if (session.destroyed) return
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      session.destroy()
      onClosed(connection.address)
    })
  }

  function handleOpen(notice: unknown): void {
    const { stream, headers } = notice as StreamNotice
    const session = stream.session as ServerHttp2Session | undefined
    const connection = session && findConnection(session)
    if (!connection) return
    connection.openedCount += 1
    streams.set(stream, { session, openedAt: now() })
    if (isCall(String(headers?.[':path']))) return
    try {
      limitAddress(connection.address)
    } catch {
      closeConnection(session, connection)
    }
  }

  function handleClose(notice: unknown): void {
    const { stream } = notice as StreamNotice
    const openStream = streams.get(stream)
    const connection = openStream && connections.get(openStream.session)
    if (!connection || stream.rstCode === constants.NGHTTP2_NO_ERROR || now() > openStream.openedAt + earlyMs) return
    connection.resetCount += 1
    if (connection.resetCount > maxResets && connection.resetCount > connection.openedCount / 2)
      closeConnection(openStream.session, connection)
  }

  subscribe(createdChannel, handleOpen)
  subscribe(closedChannel, handleClose)
  return () => {
    unsubscribe(createdChannel, handleOpen)
    unsubscribe(closedChannel, handleClose)
  }
}
