import type { Log, NoticeStore } from '@postern/core'
import { ConfigError, workKinds } from '@postern/core'
import type { Notice } from '../engine/database.ts'
import { createNotices, listNotices } from '../engine/database.ts'
import type { Writer, WriterHooks } from '../engine/writer.ts'
import { migrations } from '../schema/migrate.ts'
import { openHintLine } from './connection/hint-line.ts'
import { openLinePool } from './connection/pool.ts'
import { lookSetUp } from './connection/statement-session.ts'
import { formatPresence } from './connection/upkeep/heartbeat.ts'
import type { PostgresDatabase } from './database.ts'
import { openPostgresDatabase } from './database.ts'
import { createHints } from './hints.ts'
import { outdatedFix, outdatedProblem } from './outdated.ts'
import { toClientConfig } from './server/address.ts'
import { channelOf, formatSetUp, formatShard } from './server/session.ts'
import { readPostgresUrl } from './server/settings.ts'
import { createTakeover } from './takeover.ts'

interface ConnectOptions {
  readonly url: string
  readonly now: () => number
  readonly log: Log
  readonly holder?: string | undefined
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
}

/** All connections of one gateway to its database. */
interface ConnectedDatabase {
  readonly db: PostgresDatabase
  /** Opens the one writer. */
  openWriter(hooks: WriterHooks): Writer
  /** Hears what other gateways tell, too. */
  readonly notices: NoticeStore
  tellOthers(notice: Notice): void
  /** From then on nothing is missed that others tell. */
  readonly opened: Promise<void>
  release(): Promise<void>
}

export function connectPostgres({ url, now, log, holder, onUnusable }: ConnectOptions): ConnectedDatabase {
  const { schema, server } = readPostgresUrl(url)
  const client = toClientConfig(server)
  const channel = channelOf(schema)
  const hints = createHints()
  const notices = createNotices(log)
  const place = formatSetUp(schema)
  const setUp = [place, ...(holder === undefined ? [] : [formatPresence(schema, holder)])].join('; ')
  const standing = createStanding({ log, notices })
  const pool = openLinePool({ client, setUp: `${setUp}; ${formatShard(schema)}; ${lookSetUp}`, ...standing })
  const tellOnce = once(() => onUnusable?.(new ConfigError('store', outdatedProblem, outdatedFix)))
  const db = openPostgresDatabase(pool, {
    schema,
    now,
    version: migrations.length,
    onOutdated: tellOnce,
    hintsOf: batch => hints.write(listNotices(batch)).map(payload => [channel, payload] as const),
  })
  const takeOver = createTakeover(db)
  let writer: Writer | undefined

  function hear(payload: string): void {
    for (const notice of hints.read(payload)) notices.notify(notice.topic, notice.payload)
  }

  /** Told again, until it is done. */
  async function takeOverFrom(expired: string): Promise<void> {
    try {
      const isDone = await writer?.writeLightly(takeOver(expired, now()))
      if (isDone) log.warn({ holder: expired }, 'a gateway is gone: its work is taken up')
    } catch (error) {
      log.warn({ err: error, holder: expired }, 'a gateway is gone, and its work cannot be taken up now')
    }
  }

  const hintLine = openHintLine({ client, schema, holder, setUp, place, onHeard: hear, onExpired: takeOverFrom })
  return {
    db,
    openWriter(hooks) {
      writer = db.openWriter(hooks)
      return writer
    },
    notices,
    tellOthers: notice => hintLine.announce(hints.write([notice])),
    opened: hintLine.opened,
    async release() {
      await Promise.all([pool.close(), hintLine.close()])
    },
  }
}

interface Standing {
  onLost(reason: string): void
  onOpen(): void
}

/** Tells once that the server is gone, and once that it is there again. */
function createStanding({ log, notices }: { readonly log: Log; readonly notices: NoticeStore }): Standing {
  let isLost = false
  return {
    onLost(reason) {
      if (!isLost) log.error({ reason }, 'the database is gone')
      isLost = true
    },
    onOpen() {
      if (!isLost) return
      isLost = false
      log.info({}, 'the database is there again')
      // What was told meanwhile is lost.
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
