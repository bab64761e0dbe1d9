import { Worker } from 'node:worker_threads'
import type { ByteStore, Log, NoticeStore } from '@postern/core'
import { ConfigError, Unavailable } from '@postern/core'
import type { GatewayStore } from '../assemble.ts'
import type { StoredChannel } from '../channels/facts.ts'
import { toStoredChannel } from '../channels/facts.ts'
import type { Notice } from '../engine/database.ts'
import { createNotices } from '../engine/database.ts'
import { outdatedFix, outdatedProblem } from './outdated.ts'
import { preparePostgres } from './prepare.ts'
import type { WorkerCalls } from './thread/worker-calls.ts'
import { createWorkerCalls } from './thread/worker-calls.ts'
import type { SentError } from './thread/worker-errors.ts'
import { receiveError } from './thread/worker-errors.ts'
import type { ConnectionWorkerData, FromConnectionWorker, ToConnectionWorker } from './thread/worker-messages.ts'

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
  /** Told once, when nothing can be written any more: a newer release has changed the tables, or the thread of the store has died. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  /** Where the bytes of objects go instead of the database. */
  readonly bytes?: ByteStore | undefined
}

/**
 * The store on PostgreSQL, for any number of gateways at one database. It works in a thread of its own, which waits for the database; leases end
 * by their time or with their holder, and what another gateway tells is heard here.
 * @throws ConfigError `store` when the database cannot be used
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<GatewayStore> {
  const { url, now, log, channels, holder, bytes } = options
  await preparePostgres(url, { now, log })
  const told = { url, now: now(), channels: channels.map(toStoredChannel) }
  const data: ConnectionWorkerData = { ...told, hasBytes: bytes !== undefined, holder }
  const worker = new Worker(new URL('./thread/store-worker.ts', import.meta.url), { workerData: data })
  const notices = createNotices(log)
  const calls = createWorkerCalls(worker, { now, bytes })
  const names = await listenToWorker(worker, { calls, notices, ...options })
  worker.unref()

  function tellOthers(notice: Notice): void {
    try {
      worker.postMessage({ kind: 'hint', notice } satisfies ToConnectionWorker)
    } catch (error) {
      log.warn({ err: error, topic: notice.topic }, 'a hint cannot be told to other gateways')
    }
  }

  let closed: Promise<void> | undefined
  async function close(): Promise<void> {
    const answered = calls.call('store', 'close', [])
    calls.end()
    await answered.catch(error => log.warn({ err: error }, 'the store could not write all it wanted to at its end'))
    await worker.terminate()
  }

  const { store, ...inner } = createPorts(names, calls)
  return {
    ...store,
    ...inner,
    refuse: (refusal: unknown) => void calls.call('store', 'refuse', [refusal]).catch(() => undefined),
    listen: notices.listen,
    notify(topic: string, payload: unknown) {
      notices.notify(topic, payload)
      if (!calls.hasEnded()) tellOthers({ topic, payload })
    },
    close() {
      closed ??= close()
      return closed
    },
  } as unknown as GatewayStore
}

/** Names of methods by the port that has them. */
type PortNames = Extract<FromConnectionWorker, { kind: 'ready' }>['deps']

interface ListeningDeps extends Pick<PostgresStoreOptions, 'log' | 'onUnusable'> {
  readonly calls: WorkerCalls
  readonly notices: Pick<NoticeStore, 'notify'>
}

/** Hears what the store's thread tells. Resolves once the thread is ready. */
function listenToWorker(worker: Worker, { calls, notices, log, onUnusable }: ListeningDeps): Promise<PortNames> {
  let isUnusable = false
  function tellUnusable(problem: string, fix: string): void {
    if (!isUnusable) onUnusable?.(new ConfigError('store', problem, fix))
    isUnusable = true
  }

  function hear(message: Exclude<FromConnectionWorker, { kind: 'ready' }>): void {
    if (message.kind === 'answer') calls.settle(message.id, message.outcome)
    else if (message.kind === 'notice') notices.notify(message.notice.topic, message.notice.payload)
    else if (message.kind === 'log') log[message.level](readFields(message.fields), message.text)
    else if (message.kind === 'outdated') tellUnusable(outdatedProblem, outdatedFix)
    else void calls.runCallBack(message)
  }

  function fail(error: unknown): void {
    log.error({ err: error }, 'the thread of the store has died')
    calls.fail(new Unavailable('Cannot store: the store has stopped', { cause: error }))
    tellUnusable('the thread that speaks with the database has died', 'Start the gateway again; the log says why.')
  }

  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromConnectionWorker) => {
      if (message.kind === 'ready') resolve(message.deps)
      else hear(message)
    })
    worker.on('error', error => {
      fail(error)
      reject(error)
    })
  })
}

function createPorts(names: PortNames, { call }: WorkerCalls) {
  const ports = Object.entries(names).map(([port, methods]) => {
    const calling = methods.map(name => [name, (...args: unknown[]) => call(port, name, args)] as const)
    return [port, Object.fromEntries(calling)] as const
  })
  return Object.fromEntries(ports)
}

function readFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return fields.err === undefined ? fields : { ...fields, err: receiveError(fields.err as SentError) }
}
