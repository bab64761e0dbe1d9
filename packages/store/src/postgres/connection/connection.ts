// Opens a connection to PostgreSQL that reconnects by itself.
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, ClientConfig, Notification } from 'pg'
import pg from 'pg'
import { createNotConnectedFailure, endsConnection, toPostgresFailure } from './failure.ts'
import type { PreparedStatements, StatementStep, StepResult } from './pipelined-run.ts'
import { createPipelinedRun } from './pipelined-run.ts'

export interface PostgresConnection {
  /** Resolves after the first attempt to connect, even if it failed. */
  readonly opened: Promise<void>
  /** Runs steps. Steps with `isBeginning` may run on a new connection. Other steps fail if the connection of the earlier steps was lost. @throws PostgresFailure */
  run(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]>
  /** Returns true if the connection is open. */
  isConnected(): boolean
  close(): Promise<void>
}

export interface PostgresConnectionOptions {
  readonly client: ClientConfig
  /** The statements that a new connection runs first. */
  readonly setUp: string
  onNotification?(payload: string): void
  /** Runs for each new connection, including those after a loss. */
  onOpen?(): void
  onLost?(message: string): void
}

const [firstWaitMs, maxWaitMs] = [100, 2_000]
const maxCloseMs = 2_000
/** The time after which the connection of a running query is closed, ms. */
const maxRunMs = 70_000

/** Opens a connection that reconnects by itself. While the connection is lost, runs fail at once instead of waiting. */
export function openPostgresConnection(options: PostgresConnectionOptions): PostgresConnection {
  const connection = openReconnectingClient(options)
  /** The client of the last run with `isBeginning`. Another client cannot continue its transaction. */
  let startClient: Client | undefined

  async function runNow(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]> {
    const openConnection = connection.getOpenConnection()
    if (isBeginning) startClient = openConnection?.client
    if (!openConnection || startClient !== openConnection.client) throw createNotConnectedFailure()
    const { client, preparedStatements } = openConnection
    const query = createPipelinedRun(steps, preparedStatements)
    const watchdog = setTimeout(() => client.connection.stream.destroy(), maxRunMs)
    try {
      return await client.query(query).completion
    } catch (error) {
      const failure = toPostgresFailure(error)
      // The client reports its end only later, and no statement may be sent on it until then.
      if (endsConnection(failure)) openConnection.lose(failure)
      throw failure
    } finally {
      clearTimeout(watchdog)
    }
  }

  /** Settles after the last run. Runs follow each other, because pg accepts a query only while it is idle. */
  let lastRun: Promise<unknown> = connection.opened
  function run(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]> {
    const currentRun = lastRun.then(() => runNow(steps, isBeginning))
    lastRun = currentRun.catch(() => undefined)
    return currentRun
  }

  return {
    opened: connection.opened,
    run,
    isConnected: () => connection.getOpenConnection() !== undefined,
    async close() {
      connection.stopConnecting()
      await lastRun
      await connection.close()
    },
  }
}

interface OpenConnection {
  readonly client: Client
  readonly preparedStatements: PreparedStatements
  /** Drops the connection, even if pg has not reported its end yet. */
  lose(error: unknown): void
}

interface ReconnectingClient extends Pick<PostgresConnection, 'opened' | 'close'> {
  /** Returns the open connection, or undefined while there is none. */
  getOpenConnection(): OpenConnection | undefined
  /** Stops reconnecting. An open connection stays open, and a lost one stays lost. */
  stopConnecting(): void
}

/** Connects, and reconnects after a pause whenever the connection is lost. */
function openReconnectingClient({
  client: config,
  setUp,
  onNotification,
  onOpen,
  onLost,
}: PostgresConnectionOptions): ReconnectingClient {
  let openConnection: OpenConnection | undefined
  /** The newest client, even if it has not connected. */
  let newestClient: Client | undefined
  let isClosed = false
  let waitMs = firstWaitMs
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const client = new pg.Client(config)
    newestClient = client
    let isLost = false
    const lose = (error?: unknown) => {
      if (isLost) return
      isLost = true
      if (openConnection?.client === client) openConnection = undefined
      client.connection.stream.destroy()
      if (isClosed) return
      onLost?.(toPostgresFailure(error ?? 'the connection has ended').message)
      timer = setTimeout(connect, waitMs).unref()
      waitMs = Math.min(waitMs * 2, maxWaitMs)
    }
    client.on('error', lose)
    client.on('end', () => lose())
    client.on('notification', ({ payload }: Notification) => onNotification?.(payload ?? ''))
    try {
      await client.connect()
      await client.query(setUp)
      socketOf(client).unref()
      openConnection = { client, preparedStatements: new Map(), lose }
      waitMs = firstWaitMs
      onOpen?.()
    } catch (error) {
      lose(error)
    }
  }

  return {
    opened: connect(),
    getOpenConnection: () => openConnection,
    stopConnecting() {
      isClosed = true
      clearTimeout(timer)
      if (!openConnection) newestClient?.connection.stream.destroy()
    },
    async close() {
      // A lost connection is closed already.
      if (!openConnection) return
      const { client } = openConnection
      await closeClient(client)
      client.connection.stream.destroy()
    },
  }
}

async function closeClient(client: Client): Promise<void> {
  socketOf(client).ref()
  await Promise.race([client.end(), delay(maxCloseMs, undefined, { ref: false })])
}

/**
 * Returns the socket of a client. An open connection keeps the process alive only while it closes (`createStoreCalls` keeps the process alive for
 * waiting callers).
 */
export function socketOf(client: Client): Socket {
  return client.connection.stream as Socket
}
