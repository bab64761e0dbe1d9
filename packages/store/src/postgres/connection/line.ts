import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, ClientConfig, Notification } from 'pg'
import pg from 'pg'
import { endsConnection, failureOf, missLine } from './failure.ts'
import type { KnownStatements, StatementStep, StepResult } from './pipelined-run.ts'
import { createPipelinedRun } from './pipelined-run.ts'

export interface PostgresLine {
  /** Once it has been tried to open it. */
  readonly opened: Promise<void>
  /** `isBeginning`: what ran before on a connection that is gone does not matter. @throws PostgresFailure */
  run(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]>
  /** Whether there is a connection now. */
  isThere(): boolean
  close(): Promise<void>
}

export interface LineOptions {
  readonly client: ClientConfig
  /** What a connection is told before anything else. */
  readonly setUp: string
  onNotification?(payload: string): void
  /** Also when it is there again. */
  onOpen?(): void
  onLost?(message: string): void
}

const [firstWaitMs, longestWaitMs] = [100, 2_000]
const longestGoodbyeMs = 2_000
/** What takes longer has been forgotten by a server that is gone. */
const longestRunMs = 70_000

/** A connection that comes back by itself; while it is away nothing waits for it. */
export function openLine(options: LineOptions): PostgresLine {
  const connection = keepConnected(options)
  /** Of the last beginning: the rest of its transaction is nothing to another one. */
  let used: Client | undefined

  async function runNow(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]> {
    const current = connection.current()
    if (isBeginning) used = current?.client
    if (!current || used !== current.client) throw missLine()
    const { client, known } = current
    const query = createPipelinedRun(steps, known)
    const watchdog = setTimeout(() => client.connection.stream.destroy(), longestRunMs)
    try {
      return await client.query(query).done
    } catch (error) {
      const failure = failureOf(error)
      // Its end is heard only later, and nobody else shall ask it meanwhile.
      if (endsConnection(failure)) current.lose(failure)
      throw failure
    } finally {
      clearTimeout(watchdog)
    }
  }

  /** One after another: pg wants to be asked only while it is idle. */
  let last: Promise<unknown> = connection.opened
  function run(steps: readonly StatementStep[], isBeginning: boolean): Promise<readonly StepResult[]> {
    const running = last.then(() => runNow(steps, isBeginning))
    last = running.catch(() => undefined)
    return running
  }

  return {
    opened: connection.opened,
    run,
    isThere: () => connection.current() !== undefined,
    async close() {
      connection.stopConnecting()
      await last
      await connection.close()
    },
  }
}

interface OpenConnection {
  readonly client: Client
  readonly known: KnownStatements
  /** It is over, whether its end has been heard or not. */
  lose(error: unknown): void
}

interface KeptConnection extends Pick<PostgresLine, 'opened' | 'close'> {
  /** Undefined while it is away. */
  current(): OpenConnection | undefined
  /** From then on it stays as it is: there, or away. */
  stopConnecting(): void
}

/** Connects, and connects again after a while whenever the connection is lost. */
function keepConnected({ client: config, setUp, onNotification, onOpen, onLost }: LineOptions): KeptConnection {
  let current: OpenConnection | undefined
  /** Whether it has come to be a connection or not. */
  let newest: Client | undefined
  let isClosed = false
  let waitMs = firstWaitMs
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const client = new pg.Client(config)
    newest = client
    let isLost = false
    const lose = (error?: unknown) => {
      if (isLost) return
      isLost = true
      if (current?.client === client) current = undefined
      client.connection.stream.destroy()
      if (isClosed) return
      onLost?.(failureOf(error ?? 'the connection has ended').message)
      timer = setTimeout(connect, waitMs).unref()
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
    client.on('error', lose)
    client.on('end', () => lose())
    client.on('notification', ({ payload }: Notification) => onNotification?.(payload ?? ''))
    try {
      await client.connect()
      await client.query(setUp)
      socketOf(client).unref()
      current = { client, known: new Map(), lose }
      waitMs = firstWaitMs
      onOpen?.()
    } catch (error) {
      lose(error)
    }
  }

  return {
    opened: connect(),
    current: () => current,
    stopConnecting() {
      isClosed = true
      clearTimeout(timer)
      if (!current) newest?.connection.stream.destroy()
    },
    async close() {
      // One that is gone does not say goodbye.
      if (!current) return
      const { client } = current
      await sayGoodbye(client)
      client.connection.stream.destroy()
    },
  }
}

async function sayGoodbye(client: Client): Promise<void> {
  socketOf(client).ref()
  await Promise.race([client.end(), delay(longestGoodbyeMs, undefined, { ref: false })])
}

/** An open one keeps the process alive only while it says goodbye (`createStoreCalls` keeps it for whoever waits). */
export function socketOf(client: Client): Socket {
  return client.connection.stream as Socket
}
