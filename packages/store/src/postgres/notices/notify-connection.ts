// Opens the connection over which gateways exchange notices.
import { setTimeout as delay } from 'node:timers/promises'
import type { ClientConfig } from 'pg'
import type { Notice, TransactionNotices } from '../../transaction/notices.ts'
import type { PostgresConnection } from '../connection/connection.ts'
import { openPostgresConnection } from '../connection/connection.ts'
import { createExpiredCounter, findExpired, heartbeatCheckMs } from '../connection/upkeep/heartbeat.ts'
import type { ClockReading } from '../connection/upkeep/server-clock.ts'
import { clockQuery, completeReading } from '../connection/upkeep/server-clock.ts'
import { analyzeTable, createOutdatedTableChoice, findOutgrown } from '../connection/upkeep/statistics.ts'
import { channelOf } from '../server/session.ts'
import type { NotifyCodec } from './notify.ts'
import { createNotifyQueue } from './notify-queue.ts'

interface NotifyConnectionOptions {
  readonly client: ClientConfig
  readonly schema: string
  /** The name of this gateway in its leases. Undefined if this store leases nothing. */
  readonly holder: string | undefined
  /** The statements that each lasting connection runs first. */
  readonly setUp: string
  /** The statements that a connection for a single use runs first. */
  readonly schemaSetUp: string
  readonly codec: NotifyCodec
  /** Receives the notices of other gateways. */
  onNotice(notice: Notice): void
  /** Receives readings of the server's clock. Undefined if the store does not follow that clock. */
  readonly onClockReading: ((reading: ClockReading) => void) | undefined
  /** Runs for a gateway that has expired and still has leases. */
  onExpired(holder: string): void
}

interface NotifyConnection {
  /** Resolves when the connection receives the notices of other gateways. */
  readonly opened: Promise<void>
  /** Sends the notices of a transaction that has committed to all gateways at the same database. A notice may be lost. */
  announce(notices: TransactionNotices): void
  /** Sends a notice about running work. It may be lost, too. */
  notify(notice: Notice): void
  /** Sends the waiting notices, if the server answers soon, and closes the connection. */
  close(): Promise<void>
}

/** The maximum time for which closing waits for the last notices, ms. */
const maxLastSendMs = 2_000

const notifyStatement = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }

/** Opens a connection apart from those of transactions. The connection exchanges notices, and finds expired gateways and tables that have grown. */
export function openNotifyConnection(options: NotifyConnectionOptions): NotifyConnection {
  const { client, holder, setUp, codec, onNotice, onExpired, onClockReading } = options
  const channel = channelOf(options.schema)
  const expiredCounter = createExpiredCounter()
  const connection = openPostgresConnection({
    client,
    // A notice need not be durable. The server lets transactions with notices commit one after another, so none of them may wait for the disk.
    setUp: `${setUp}; SET synchronous_commit = off; LISTEN ${channel}`,
    onNotification(payload) {
      for (const notice of codec.parse(payload)) onNotice(notice)
    },
    onLost: () => expiredCounter.reset(),
  })
  const query = async (statement: { readonly name: string; readonly text: string }, value: string) => {
    const results = await connection.run([{ statement, values: [value] }], true).catch(() => undefined)
    return results?.[0]?.rows ?? []
  }
  const queue = createNotifyQueue(async texts => {
    const steps = codec.pack(texts).map(payload => ({ statement: notifyStatement, values: [channel, payload] }))
    return connection.run(steps, true).then(
      () => true,
      () => false,
    )
  })

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
    announce: queue.announce,
    notify: queue.notify,
    async close() {
      isClosed = true
      clearInterval(checkTimer)
      if (connection.isConnected())
        await Promise.race([queue.waitUntilSent(), delay(maxLastSendMs, undefined, { ref: false })])
      await connection.close()
    },
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
