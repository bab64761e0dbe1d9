// Limits the gRPC connections that one network has at a time.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { networkOf } from '@postern/http'
import { createOpenCount } from '@postern/limits'
import { Rejection } from '@postern/message'

interface ConnectionGuardOptions {
  /** The port of the listener. The guard ignores other servers of the process. */
  readonly port: number
  /** Handles a connection that was closed. */
  onRefused(refusal: unknown, address: string): void
}

/** The most connections of one network. Each connection may have 200 open calls, so no honest network needs more. */
const maxConnections = 100
const socketChannel = 'net.server.socket'

/** Starts the guard. @returns the function that ends it */
export function guardConnections({ port, onRefused }: ConnectionGuardOptions): () => void {
  const countConnection = createOpenCount(
    maxConnections,
    () => new Rejection('rate_limited', 'Cannot take connection: its network has too many open', { retryAfter: 5 }),
  )

  function handleSocket(notice: unknown): void {
    const { socket } = notice as { readonly socket: Socket }
    const { localPort, remoteAddress } = socket
    if (localPort !== port || remoteAddress === undefined) return
    try {
      socket.once('close', countConnection(networkOf(remoteAddress)))
    } catch (refusal) {
      socket.destroy()
      onRefused(refusal, remoteAddress)
    }
  }

  subscribe(socketChannel, handleSocket)
  return () => {
    unsubscribe(socketChannel, handleSocket)
  }
}
