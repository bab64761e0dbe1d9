// Pools connections for transactions and queries.
import type { PostgresConnection, PostgresConnectionOptions } from './connection.ts'
import { openPostgresConnection } from './connection.ts'

/** A connection that a transaction has acquired from the pool. */
export interface PooledConnection extends Pick<PostgresConnection, 'run'> {
  release(): void
}

/** A pool of connections for transactions that run at the same time. */
export interface ConnectionPool {
  /** Acquires a connection, and waits until one is free. */
  acquire(): Promise<PooledConnection>
  close(): Promise<void>
}

/** The number of connections for the transactions and queries of callers. */
const poolSize = 4
/** The number of connections for the queries of operators, so that no other caller waits for these queries. */
export const operatorPoolSize = 2
/** The number of all connections of a gateway, including the one for notices. */
export const connectionsOfGateway = poolSize + operatorPoolSize + 1

interface PoolOptions extends PostgresConnectionOptions {
  readonly size?: number
}

export function openConnectionPool({ onOpen, size = poolSize, ...options }: PoolOptions): ConnectionPool {
  const onConnectionOpen = () => {
    onOpen?.()
    serveWaiters()
  }
  const connections = Array.from({ length: size }, () =>
    openPostgresConnection({ ...options, onOpen: onConnectionOpen }),
  )
  const freeConnections = [...connections]
  const waiters: ((connection: PostgresConnection) => void)[] = []

  /**
   * Acquires the free connection that was used last, because it has prepared the most statements. A lost connection is acquired only if all
   * connections are lost.
   */
  function findFree(): PostgresConnection | undefined {
    const index = freeConnections.findLastIndex(connection => connection.isConnected())
    if (index >= 0) return freeConnections.splice(index, 1)[0]
    return connections.some(connection => connection.isConnected()) ? undefined : freeConnections.shift()
  }

  function serveWaiters(): void {
    while (waiters.length > 0) {
      const connection = findFree()
      if (!connection) return
      waiters.shift()?.(connection)
    }
  }

  function release(connection: PostgresConnection): void {
    freeConnections.push(connection)
    serveWaiters()
  }

  return {
    async acquire() {
      const connection = await new Promise<PostgresConnection>(resolve => {
        waiters.push(resolve)
        serveWaiters()
      })
      return { run: connection.run, release: () => release(connection) }
    },
    async close() {
      await Promise.all(connections.map(connection => connection.close()))
    },
  }
}
