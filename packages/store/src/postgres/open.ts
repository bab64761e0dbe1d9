import type { ByteStore, ConfigError, Log } from '@postern/core'
import { Rejection } from '@postern/core'
import type { GatewayStore } from '../assemble.ts'
import { assembleStore } from '../assemble.ts'
import type { StoredChannel } from '../channels/facts.ts'
import { noBlobFiles } from '../engine/blob-files.ts'
import { listNotices } from '../engine/database.ts'
import { tellSettledTask } from '../tasks/table.ts'
import { createStoreCalls } from './calls.ts'
import { connectPostgres } from './connect.ts'
import { preparePostgres } from './prepare.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, with `schema`, `sslmode` and the like behind it (docs/guides/many-gateways.md). */
  readonly url: string
  /** Milliseconds since the epoch. Gateways of one database should agree on it to a second or so. */
  readonly now: () => number
  readonly log: Log
  /** All channels whose messages are stored. */
  readonly channels: readonly StoredChannel[]
  /** Names this process and no other, in all its leases: others take them up when it is gone, and it does so for them. */
  readonly holder?: string | undefined
  /** Told once, when nothing can be written any more: a newer release has changed the tables. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** Where the bytes of objects go instead of the database. */
  readonly bytes?: ByteStore | undefined
}

/**
 * The store on PostgreSQL, for any number of gateways at one database. Leases end by their time or with their holder, and what another gateway
 * tells is heard here.
 * @throws ConfigError `store` when the database cannot be used
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<GatewayStore> {
  const { url, now, log, channels, bytes } = options
  await preparePostgres(url, { now, log })
  const { db, openWriter, notices, tellOthers, opened, release } = connectPostgres(options)
  const calls = createStoreCalls(db)
  const store = assembleStore({
    db,
    openWriter,
    files: noBlobFiles,
    notices,
    now: db.now,
    log,
    channels,
    isAlone: false,
    bytes,
    onDurable(batch) {
      for (const { topic, payload } of listNotices(batch, tellSettledTask)) notices.notify(topic, payload)
    },
    rewrite() {
      throw new Rejection(
        'unsupported',
        "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it",
      )
    },
    release,
  })
  await opened
  const { refuse, noteLookup, listen, offerTurns, offerDeliveries, close } = store
  let closed: Promise<void> | undefined

  const own: Partial<GatewayStore> = {
    refuse(refusal) {
      if (!calls.hasEnded()) refuse(refusal)
    },
    // As `refuse`: nobody waits for it.
    noteLookup(lookup) {
      if (!calls.hasEnded()) noteLookup(lookup)
    },
    listen,
    ...(offerTurns && { offerTurns }),
    ...(offerDeliveries && { offerDeliveries }),
    notify(topic, payload) {
      notices.notify(topic, payload)
      if (!calls.hasEnded()) tellOthers({ topic, payload })
    },
    close() {
      closed ??= calls
        .end(close)
        .catch(error => log.warn({ err: error }, 'the store could not write all it wanted to at its end'))
      return closed
    },
  }
  const inner = Object.entries(store).filter(([, member]) => typeof member === 'object')
  const ports = Object.fromEntries(inner.map(([name, port]) => [name, calls.wrap(port)]))
  return { ...calls.wrap(store), ...ports, ...own } as unknown as GatewayStore
}
