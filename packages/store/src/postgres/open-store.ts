// Opens a store on PostgreSQL.
import type { ByteStore, ConfigError, Log } from '@postern/message'
import { Rejection } from '@postern/message'
import type { AssembledStore, GatewayStore } from '../assemble.ts'
import { assembleStore, completeStore } from '../assemble.ts'
import type { StoredChannel } from '../channels/channel-facts.ts'
import { noBlobFiles } from '../files/blob-files.ts'
import { describeSettledTask } from '../tasks/task-table.ts'
import { listNotices } from '../transaction/notices.ts'
import { refusingWriter } from '../transaction/refusing-writer.ts'
import { connectPostgres } from './connect.ts'
import { createServerClock } from './connection/upkeep/server-clock.ts'
import { extendLeases } from './extend-leases.ts'
import { preparePostgres } from './prepare.ts'
import type { StoreCalls } from './store-calls.ts'
import { createStoreCalls } from './store-calls.ts'

export interface PostgresStoreOptions {
  /** The URL `postgres://user:password@host:port/database`, with parameters such as `schema` and `sslmode` (docs/guides/many-gateways.md). */
  readonly url: string
  /** Returns milliseconds since the epoch. The default is the server's clock, which is the same for all gateways of one database. */
  readonly now?: (() => number) | undefined
  readonly log: Log
  /** All channels whose messages are stored. */
  readonly channels: readonly StoredChannel[]
  /** A unique name of this process for all its leases. When a process disappears, the gateways with a name end its leases. */
  readonly holder?: string | undefined
  /** Runs once when the store can no longer write, because a newer release has changed the tables. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** The storage for the bytes of objects, if they are not stored in the database. */
  readonly bytes?: ByteStore | undefined
  /** If false, a database of an earlier release is refused and stays unchanged. By default, such a database is migrated to the newest tables. */
  readonly mayMigrate?: boolean | undefined
  /** True if the store only reads. The server then also refuses writes. */
  readonly readsOnly?: boolean | undefined
  /** The maximum time for which a call waits for a server that does not answer, ms. The default is 10 seconds. */
  readonly maxWaitMs?: number | undefined
}

/**
 * Opens the store on PostgreSQL, for any number of gateways at one database. A lease ends when it expires or when its gateway disappears, and the store
 * receives the notices of other gateways.
 * @throws ConfigError `store` if the database cannot be used
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<GatewayStore> {
  const { url, log, channels, bytes, readsOnly = false, mayMigrate = !readsOnly } = options
  const preparedDatabase = await preparePostgres(url, { now: options.now ?? Date.now, log, mayMigrate })
  const { handledSecret, clock: reading } = preparedDatabase
  const clock = options.now ? { now: options.now } : createServerClock(reading)
  const { db, openWriter, notices, notifyOthers, whenListening, release } = connectPostgres({ ...options, clock })
  const calls = createStoreCalls({ read: db.read, run: db.runForCallers }, options.maxWaitMs)
  const operatorCalls = createStoreCalls({ read: db.read, run: db.runForOperators }, options.maxWaitMs)
  const store = assembleStore({
    db,
    openWriter: readsOnly ? () => refusingWriter : openWriter,
    readsOnly,
    files: noBlobFiles,
    notices,
    now: clock.now,
    log,
    channels,
    handledSecret,
    isSoleWriter: false,
    bytes,
    onDurable(batch) {
      for (const { topic, payload } of listNotices(batch, describeSettledTask)) notices.notify(topic, payload)
    },
    rewrite: refuseRewriting,
    release,
  })
  await whenListening
  const { refuse, noteLookup, listen, setTurnConsumer, setDeliveryConsumer, close } = store
  let closing: Promise<void> | undefined

  const overrides: Partial<AssembledStore> = {
    refuse: refusal => !calls.hasEnded() && refuse(refusal),
    // Callers do not wait for this member or for `refuse`, so neither is wrapped as a call.
    noteLookup(lookup) {
      if (!calls.hasEnded()) noteLookup(lookup)
    },
    listen,
    now: clock.now,
    ...(setTurnConsumer && { setTurnConsumer }),
    ...(setDeliveryConsumer && { setDeliveryConsumer }),
    notify(topic, payload) {
      notices.notify(topic, payload)
      if (!calls.hasEnded()) notifyOthers({ topic, payload })
    },
    close() {
      closing ??= calls
        .closeWith(() => operatorCalls.closeWith(close))
        .catch(error => log.warn({ err: error }, 'the store could not write all waiting data when it was closed'))
      return closing
    },
  }
  const forOperators = wrapStore(store, operatorCalls, overrides)
  const wrappedStore = { ...wrapStore(store, calls, overrides), forOperators } as unknown as AssembledStore
  const storeWithLeases = 'behindMs' in clock ? { ...wrappedStore, ...extendLeases(wrappedStore, clock) } : wrappedStore
  return completeStore(storeWithLeases, { now: clock.now, isSoleWriter: false, readsOnly })
}

function refuseRewriting(): never {
  throw new Rejection('unsupported', "Cannot rewrite: the files are the database server's, whose VACUUM FULL does it")
}

/** Wraps the methods of a store and of its ports as calls. The members of `overrides` are used as they are. */
function wrapStore(
  store: AssembledStore,
  { wrap }: Pick<StoreCalls, 'wrap'>,
  overrides: Partial<AssembledStore>,
): object {
  const { forOperators: _, ...members } = store
  const portEntries = Object.entries(members).filter(([, member]) => typeof member === 'object')
  const ports = Object.fromEntries(portEntries.map(([name, port]) => [name, wrap(port)]))
  return { ...wrap(members), ...ports, ...overrides }
}
