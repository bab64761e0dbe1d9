// Opens the connection over which gateways exchange notices.
import type { ClientConfig } from 'pg'
import { channelOf } from '../server/session.ts'
import type { PostgresConnection } from './connection.ts'
import { openPostgresConnection } from './connection.ts'
import { createExpiredCounter, findExpired, heartbeatCheckMs } from './upkeep/heartbeat.ts'
import type { ClockReading } from './upkeep/server-clock.ts'
import { clockQuery, completeReading } from './upkeep/server-clock.ts'
import { analyzeTable, createOutdatedTableChoice, findOutgrown } from './upkeep/statistics.ts'

interface NotifyConnectionOptions {
  readonly client: ClientConfig
  readonly schema: string
  /** The name of this gateway in its leases. Undefined if this store leases nothing. */
  readonly holder: string | undefined
  /** The statements that each lasting connection runs first. */
  readonly setUp: string
  /** The statements that a connection for a single use runs first. */
  readonly schemaSetUp: string
  onPayload(payload: string): void
  /** Receives readings of the server's clock. Undefined if the store does not follow that clock. */
  readonly onClockReading: ((reading: ClockReading) => void) | undefined
  /** Runs for a gateway that has expired and still has leases. */
  onExpired(holder: string): void
}

interface NotifyConnection {
  /** Resolves when the connection receives the notices of other gateways. */
  readonly opened: Promise<void>
  /** Sends notices to all gateways at the same database. A notice may be lost. */
  announce(payloads: readonly string[]): void
  close(): Promise<void>
}

const notifyStatement = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }

/** Opens a connection apart from those of transactions. The connection exchanges notices, and finds expired gateways and tables that have grown. */
export function openNotifyConnection(options: NotifyConnectionOptions): NotifyConnection {
  const { client, holder, setUp, onPayload, onExpired, onClockReading } = options
  const channel = channelOf(options.schema)
  const expiredCounter = createExpiredCounter()
  const connection = openPostgresConnection({
    client,
    // A notice need not be durable.
    setUp: `${setUp}; SET synchronous_commit = off; LISTEN ${channel}`,
    onNotification: onPayload,
    onLost: () => expiredCounter.reset(),
  })
  const query = async (statement: { readonly name: string; readonly text: string }, value: string) => {
    const results = await connection.run([{ statement, values: [value] }], true).catch(() => undefined)
    return results?.[0]?.rows ?? []
  }
  const announce = createAnnouncer(connection, channel)

  let isClosed = false
  const listOutgrown = (schemaName: string) => query(findOutgrown, schemaName)
  const refreshStatistics = createStatisticsRefresh(options, { list: listOutgrown, hasEnded: () => isClosed })

  async function checkHeartbeat(ownHolder: string): Promise<void> {
    const missingGateways = await query(findExpired, ownHolder)
    for (const expiredHolder of expiredCounter.count(missingGateways.map(row => String(row.lease_owner))))
      onExpired(expiredHolder)
    void refreshStatistics()
  }

  // Checks do not queue behind a slow check, because each check must read the current state.
  const checkConnection = oneAtATime(async () => {
    if (onClockReading) await readClock(connection, onClockReading)
    if (holder !== undefined) await checkHeartbeat(holder)
  })
  /** The timer of the checks. A working gateway watches the other gateways and the tables. */
  const checkTimer = setInterval(() => void checkConnection(), heartbeatCheckMs).unref()

  return {
    opened: connection.opened,
    announce,
    async close() {
      isClosed = true
      clearInterval(checkTimer)
      await connection.close()
    },
  }
}

/** Creates the function that sends notices. Notices that arrive during a transmission are sent together in the next one. */
function createAnnouncer(connection: Pick<PostgresConnection, 'run'>, channel: string): NotifyConnection['announce'] {
  let pendingPayloads: string[] = []
  let isSending = false
  async function sendAll(): Promise<void> {
    if (isSending) return
    isSending = true
    while (pendingPayloads.length > 0) {
      const steps = pendingPayloads.map(payload => ({ statement: notifyStatement, values: [channel, payload] }))
      pendingPayloads = []
      await connection.run(steps, true).catch(() => undefined)
    }
    isSending = false
  }
  return payloads => {
    pendingPayloads.push(...payloads)
    void sendAll()
  }
}

async function readClock(
  connection: Pick<PostgresConnection, 'run'>,
  onClock: NonNullable<NotifyConnectionOptions['onClockReading']>,
): Promise<void> {
  const sentAt = performance.now()
  const [result] = await connection.run([{ statement: clockQuery, values: [] }], true).catch(() => [])
  const reading = completeReading(Number(result?.rows[0]?.at), sentAt)
  if (Number.isFinite(reading.at)) onClock(reading)
}

type Rows = Awaited<ReturnType<ReturnType<typeof openPostgresConnection>['run']>>[number]['rows']

interface StatisticsRefreshDeps {
  list(schema: string): Promise<Rows>
  hasEnded(): boolean
}

/** Prepares the analysis of tables that have grown. A failed analysis is repeated later. */
function createStatisticsRefresh(
  { client, schema, schemaSetUp }: Pick<NotifyConnectionOptions, 'client' | 'schema' | 'schemaSetUp'>,
  { list, hasEnded }: StatisticsRefreshDeps,
): () => Promise<void> {
  const statistics = createOutdatedTableChoice()
  return oneAtATime(async () => {
    const tables = (await list(schema)).map(({ name, pages }) => ({ name: String(name), pages: Number(pages) }))
    for (const table of statistics.chooseOutdated(tables)) {
      if (hasEnded()) return
      await analyzeTable(table, client, schemaSetUp).catch(() => statistics.recordFailure(table))
    }
  })
}

/** Returns `work` as a function that does nothing while `work` runs. */
function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let isRunning = false
  return async () => {
    if (isRunning) return
    isRunning = true
    try {
      await work()
    } finally {
      isRunning = false
    }
  }
}
