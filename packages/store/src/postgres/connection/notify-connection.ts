// Keeps the connection that listens to notices of other gateways.
import type { ClientConfig } from 'pg'
import { channelOf } from '../server/session.ts'
import type { PostgresLine } from './line.ts'
import { openLine } from './line.ts'
import { createExpiredCounter, findExpired, heartbeatCheckMs } from './upkeep/heartbeat.ts'
import type { ClockReading } from './upkeep/server-clock.ts'
import { askClock, endReading } from './upkeep/server-clock.ts'
import { analyzeTable, createStatistics, findOutgrown } from './upkeep/statistics.ts'

interface NotifyConnectionOptions {
  readonly client: ClientConfig
  readonly schema: string
  /** The name in our leases; undefined if this store leases nothing. */
  readonly holder: string | undefined
  /** Statements that each of our connections runs first. */
  readonly setUp: string
  /** Statements that a connection for a single use runs first. */
  readonly schemaSetUp: string
  onHeard(payload: string): void
  /** Receives readings of the server's clock; undefined if nothing follows that clock. */
  readonly onClock: ((reading: ClockReading) => void) | undefined
  /** Runs for a gateway that has held leases and has disappeared. */
  onExpired(holder: string): void
}

interface HintLine {
  /** Resolves when no further hint of another gateway is missed. */
  readonly opened: Promise<void>
  /** Sends hints to all who listen at the same database. A hint may be lost. */
  announce(payloads: readonly string[]): void
  close(): Promise<void>
}

const notify = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }

/** Opens a connection beside those of transactions. It receives and sends hints, and finds disappeared gateways and grown tables. */
export function openNotifyConnection(options: NotifyConnectionOptions): HintLine {
  const { client, holder, setUp, onHeard, onExpired, onClock } = options
  const channel = channelOf(options.schema)
  const expired = createExpiredCounter()
  const line = openLine({
    client,
    // A hint need not be durable.
    setUp: `${setUp}; SET synchronous_commit = off; LISTEN ${channel}`,
    onNotification: onHeard,
    onLost: () => expired.forget(),
  })
  const ask = async (name: { readonly name: string; readonly text: string }, value: string) => {
    const results = await line.run([{ statement: name, values: [value] }], true).catch(() => undefined)
    return results?.[0]?.rows ?? []
  }
  let waiting: string[] = []
  let isAnnouncing = false
  /** Sends all waiting hints. Hints that arrive during a send share the next one. */
  async function announceAll(): Promise<void> {
    if (isAnnouncing) return
    isAnnouncing = true
    while (waiting.length > 0) {
      const steps = waiting.map(payload => ({ statement: notify, values: [channel, payload] }))
      waiting = []
      await line.run(steps, true).catch(() => undefined)
    }
    isAnnouncing = false
  }

  let isClosed = false
  const list = (schemaName: string) => ask(findOutgrown, schemaName)
  const refreshStatistics = createRefreshing(options, { list, hasEnded: () => isClosed })

  async function checkHeartbeat(own: string): Promise<void> {
    const gone = await ask(findExpired, own)
    for (const each of expired.see(gone.map(row => String(row.lease_owner)))) onExpired(each)
    void refreshStatistics()
  }

  // Checks do not queue after a slow one, because each has to show the present.
  const checkOnce = oneAtATime(async () => {
    if (onClock) await readClock(line, onClock)
    if (holder !== undefined) await checkHeartbeat(holder)
  })
  /** The timer of the checks. A working gateway watches the other gateways and the tables. */
  const checking = setInterval(() => void checkOnce(), heartbeatCheckMs).unref()

  return {
    opened: line.opened,
    announce(payloads) {
      waiting.push(...payloads)
      void announceAll()
    },
    async close() {
      isClosed = true
      clearInterval(checking)
      await line.close()
    },
  }
}

async function readClock(
  line: Pick<PostgresLine, 'run'>,
  onClock: NonNullable<NotifyConnectionOptions['onClock']>,
): Promise<void> {
  const sentAt = performance.now()
  const [result] = await line.run([{ statement: askClock, values: [] }], true).catch(() => [])
  const reading = endReading(Number(result?.rows[0]?.at), sentAt)
  if (Number.isFinite(reading.at)) onClock(reading)
}

type Rows = Awaited<ReturnType<ReturnType<typeof openLine>['run']>>[number]['rows']

interface Refreshing {
  list(schema: string): Promise<Rows>
  hasEnded(): boolean
}

/** Prepares the analysis of tables that have grown. A failed one is retried later. */
function createRefreshing(
  { client, schema, schemaSetUp }: Pick<NotifyConnectionOptions, 'client' | 'schema' | 'schemaSetUp'>,
  { list, hasEnded }: Refreshing,
): () => Promise<void> {
  const statistics = createStatistics()
  return oneAtATime(async () => {
    const tables = (await list(schema)).map(({ name, pages }) => ({ name: String(name), pages: Number(pages) }))
    for (const table of statistics.outdated(tables)) {
      if (hasEnded()) return
      await analyzeTable(table, client, schemaSetUp).catch(() => statistics.forget(table))
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
