// Opens all connections of a gateway to its database on PostgreSQL.
import type { Log } from '@postern/message'
import { ConfigError } from '@postern/message'
import type { NoticeStore } from '@postern/pipeline'
import { workKinds } from '@postern/pipeline'
import { schemaMigrations } from '../schema/migrations.ts'
import { createNotices } from '../transaction/notice-hub.ts'
import type { Notice } from '../transaction/notices.ts'
import type { Writer, WriterHooks } from '../transaction/writer.ts'
import { openConnectionPool, operatorPoolSize } from './connection/pool.ts'
import { readSetUp } from './connection/statement-session.ts'
import { formatPresence } from './connection/upkeep/heartbeat.ts'
import type { ServerClock } from './connection/upkeep/server-clock.ts'
import type { PostgresDatabase } from './database.ts'
import { openPostgresDatabase } from './database.ts'
import { createNotifyCodec } from './notices/notify.ts'
import { openNotifyConnection } from './notices/notify-connection.ts'
import { outdatedFix, outdatedMessage } from './outdated-release.ts'
import { toClientConfig } from './server/address.ts'
import { formatSetUp, formatShard, operatorLimits } from './server/session.ts'
import { readPostgresUrl } from './server/settings.ts'
import { createTakeover } from './takeover.ts'

interface ConnectOptions {
  readonly url: string
  /** The clock of the store. `note` is present if the clock follows the server's clock. */
  readonly clock: Pick<ServerClock, 'now'> & Partial<Pick<ServerClock, 'note'>>
  readonly log: Log
  /** The id under which this gateway holds leases. Absent if it leases no work. */
  readonly holder?: string | undefined
  /** Reports once that a later release has changed the schema, so that this gateway cannot use the database. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** True if all transactions only read. */
  readonly readsOnly?: boolean | undefined
}

/** All connections of one gateway to its database. */
interface ConnectedDatabase {
  readonly db: PostgresDatabase
  /** Opens the writer. It may be called once. */
  openWriter(hooks: WriterHooks): Writer
  /** The notices of this gateway and of other gateways. */
  readonly notices: NoticeStore
  notifyOthers(notice: Notice): void
  /** Resolves when the gateway receives the notices of other gateways. */
  readonly whenListening: Promise<void>
  release(): Promise<void>
}

export function connectPostgres({ url, clock, log, holder, onUnusable, readsOnly }: ConnectOptions): ConnectedDatabase {
  const { now, note: onClockReading } = clock
  const { schema, server } = readPostgresUrl(url)
  const client = toClientConfig(server)
  const notices = createNotices(log)
  const schemaSetUp = `${formatSetUp(schema)}${readsOnly ? '; SET default_transaction_read_only = on' : ''}`
  const setUp = [schemaSetUp, ...(holder === undefined ? [] : [formatPresence(schema, holder)])].join('; ')
  const connectionLog = createConnectionLog({ log, notices })
  const pool = openConnectionPool({ client, setUp: `${setUp}; ${formatShard(schema)}; ${readSetUp}`, ...connectionLog })
  const operatorPool = openConnectionPool({
    ...{ client, size: operatorPoolSize, ...connectionLog },
    setUp: `${schemaSetUp}; ${operatorLimits}; ${readSetUp}`,
  })
  const reportOutdated = once(() => onUnusable?.(new ConfigError('store', outdatedMessage, outdatedFix)))
  const db = openPostgresDatabase(pool, {
    operatorPool,
    schema,
    version: schemaMigrations.length,
    onOutdated: reportOutdated,
  })
  const planTakeover = createTakeover(db)
  let writer: Writer | undefined

  /** Makes the work of an expired gateway due. If it fails, the next heartbeat check reports the gateway again. */
  async function takeOverWork(expiredHolder: string): Promise<void> {
    try {
      const isDone = await writer?.writeLightly(planTakeover(expiredHolder, now()))
      if (isDone) log.warn({ holder: expiredHolder }, 'a gateway has expired, and its work is due again')
    } catch (error) {
      log.warn({ err: error, holder: expiredHolder }, 'a gateway has expired, and its work cannot be made due now')
    }
  }

  const notifyConnection = openNotifyConnection({
    ...{ client, schema, holder, setUp, schemaSetUp, onClockReading },
    codec: createNotifyCodec(),
    onNotice: ({ topic, payload }) => notices.notify(topic, payload),
    onExpired: takeOverWork,
  })
  return {
    db,
    openWriter(hooks) {
      writer = db.openWriter({
        ...hooks,
        // A gateway that gets a notice finds the changes, because they are visible by now.
        onCommitted(batch) {
          hooks.onCommitted?.(batch)
          notifyConnection.announce(batch)
        },
      })
      return writer
    },
    notices,
    notifyOthers: notifyConnection.notify,
    whenListening: notifyConnection.opened,
    async release() {
      await Promise.all([pool.close(), operatorPool.close(), notifyConnection.close()])
    },
  }
}

interface ConnectionLog {
  onLost(reason: string): void
  onOpen(): void
}

/** Logs once that the server is unreachable, and once that it is available again. */
function createConnectionLog({ log, notices }: { readonly log: Log; readonly notices: NoticeStore }): ConnectionLog {
  let isLost = false
  return {
    onLost(reason) {
      if (!isLost) log.error({ reason }, 'the database is unreachable')
      isLost = true
    },
    onOpen() {
      if (!isLost) return
      isLost = false
      log.info({}, 'the database is reachable again')
      // Notices that were sent in the meantime are lost.
      notices.notify('work', workKinds)
    },
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}
