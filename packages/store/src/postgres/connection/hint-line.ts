import type { ClientConfig } from 'pg'
import { channelOf } from '../server/session.ts'
import { openLine } from './line.ts'
import { createExpiredCounter, findExpired, heartbeatCheckMs } from './upkeep/heartbeat.ts'
import { analyzeTable, createStatistics, findOutgrown } from './upkeep/statistics.ts'

interface HintLineOptions {
  readonly client: ClientConfig
  readonly schema: string
  /** The name in our leases, where we lease. */
  readonly holder: string | undefined
  /** What each connection of ours is told first. */
  readonly setUp: string
  /** As `setUp`, for one that is used once. */
  readonly place: string
  onHeard(payload: string): void
  /** Somebody who has leased, and is gone. */
  onExpired(holder: string): void
}

interface HintLine {
  /** From then on nothing is missed that others tell. */
  readonly opened: Promise<void>
  /** Hints for all who listen at the same database. One may be lost. */
  announce(payloads: readonly string[]): void
  close(): Promise<void>
}

const notify = { name: 'notify', text: 'SELECT pg_notify($1, $2)' }

/** A connection beside those of transactions: it hears what others tell, tells them, and looks who is gone and which tables have grown. */
export function openHintLine(options: HintLineOptions): HintLine {
  const { client, schema, holder, setUp, onHeard, onExpired } = options
  const channel = channelOf(schema)
  const expired = createExpiredCounter()
  const line = openLine({
    client,
    // A hint need not be durable.
    setUp: `${setUp}; SET synchronous_commit = off; LISTEN ${channel}`,
    onNotification: onHeard,
    onLost: () => expired.forget(),
  })
  const ask = async (name: { readonly name: string; readonly text: string }, value: string) => {
    const found = await line.run([{ statement: name, values: [value] }], true).catch(() => undefined)
    return found?.[0]?.rows ?? []
  }
  let waiting: string[] = []
  let isAnnouncing = false

  /** Those that come while some are on their way go together. */
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

  async function look(own: string): Promise<void> {
    const gone = await ask(findExpired, own)
    for (const each of expired.see(gone.map(row => String(row.lease_owner)))) onExpired(each)
    void refreshStatistics()
  }

  // Looks do not pile up behind one that takes long: each is to show another moment.
  const lookOnce = oneAtATime(async () => holder !== undefined && look(holder))
  /** Who works looks after the others, and after the tables. */
  const looking = holder === undefined ? undefined : setInterval(() => void lookOnce(), heartbeatCheckMs).unref()

  return {
    opened: line.opened,
    announce(payloads) {
      waiting.push(...payloads)
      void announceAll()
    },
    async close() {
      isClosed = true
      clearInterval(looking)
      await line.close()
    },
  }
}

type Rows = Awaited<ReturnType<ReturnType<typeof openLine>['run']>>[number]['rows']

interface Refreshing {
  list(schema: string): Promise<Rows>
  hasEnded(): boolean
}

/** What fails here is tried again later. */
function createRefreshing(
  { client, schema, place }: Pick<HintLineOptions, 'client' | 'schema' | 'place'>,
  { list, hasEnded }: Refreshing,
): () => Promise<void> {
  const statistics = createStatistics()
  return oneAtATime(async () => {
    const tables = (await list(schema)).map(({ name, pages }) => ({ name: String(name), pages: Number(pages) }))
    for (const table of statistics.outdated(tables)) {
      if (hasEnded()) return
      await analyzeTable(table, client, place).catch(() => statistics.forget(table))
    }
  })
}

/** Passed over while it runs. */
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
