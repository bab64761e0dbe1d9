import { Worker } from 'node:worker_threads'
import type { ByteStore, Log } from '@postern/core'
import { ConfigError, Unavailable } from '@postern/core'
import type { GatewayStore } from '../assemble.ts'
import type { StoredChannel } from '../channels/facts.ts'
import { toStoredChannel } from '../channels/facts.ts'
import type { Notice } from '../engine/batch.ts'
import { createNotices } from '../engine/notices.ts'
import { noAnswer } from './connection/store-errors.ts'
import { limitWait } from './limit-wait.ts'
import { outdatedFix, outdatedProblem } from './outdated.ts'
import { preparePostgres } from './prepare.ts'
import { receiveError, type SentError, sendError } from './worker-errors.ts'
import type { ConnectionWorkerData, FromConnectionWorker, Outcome, ToConnectionWorker } from './worker-messages.ts'
import { byteStoreMethods, captureOutcome, createPendingCalls } from './worker-messages.ts'

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
export async function openPostgresStore({
  url,
  now,
  log,
  channels,
  holder,
  onUnusable,
  bytes,
}: PostgresStoreOptions): Promise<GatewayStore> {
  await preparePostgres(url, { now, log })
  const told = { url, now: now(), channels: channels.map(toStoredChannel) }
  const data: ConnectionWorkerData = { ...told, hasBytes: bytes !== undefined, holder }
  const worker = new Worker(new URL('./store-worker.ts', import.meta.url), { workerData: data })
  const notices = createNotices(log)
  const calls = createPendingCalls()
  const functions = new Map<number, readonly unknown[]>([[0, byteStoreMethods.map(name => bytes?.[name].bind(bytes))]])
  let whyNot: Error | undefined

  const post = (message: ToConnectionWorker) => worker.postMessage(message)

  function tellOthers(notice: Notice): void {
    try {
      post({ kind: 'hint', notice })
    } catch (error) {
      log.warn({ err: error, topic: notice.topic }, 'a hint cannot be told to other gateways')
    }
  }

  function call(port: string, name: string, args: readonly unknown[]): Promise<unknown> {
    if (whyNot) return Promise.reject(whyNot)
    const { id, promise } = calls.add()
    const marked = args.map((arg, at) => (typeof arg === 'function' ? { functionAt: at } : leaveOutRaw(arg)))
    if (args.some(arg => typeof arg === 'function')) functions.set(id, args)
    // A process that wants nothing more of the store may end without it: one that cannot start, a command.
    worker.ref()
    try {
      post({ kind: 'call', id, port, name, args: marked, now: now() })
    } catch (error) {
      calls.settle(id, { error: sendError(error) })
    }
    const answered = promise.finally(() => {
      functions.delete(id)
      if (calls.isEmpty()) worker.unref()
    })
    return isImpatient(name) ? limitWait(answered, patienceMs, noAnswer) : answered
  }

  async function runCallBack({
    id,
    call: of,
    at,
    args,
  }: Extract<FromConnectionWorker, { kind: 'callBack' }>): Promise<void> {
    const wanted = functions.get(of)?.[at] as ((...args: readonly unknown[]) => unknown) | undefined
    const outcome: Outcome = await captureOutcome(() => wanted?.(...args))
    post({ kind: 'returned', id, outcome })
  }

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
    else void runCallBack(message)
  }

  function fail(error: unknown): void {
    log.error({ err: error }, 'the thread of the store has died')
    whyNot = new Unavailable('Cannot store: the store has stopped', { cause: error })
    calls.rejectAll(whyNot)
    tellUnusable('the thread that speaks with the database has died', 'Start the gateway again; the log says why.')
  }

  const ready = new Promise<Extract<FromConnectionWorker, { kind: 'ready' }>['deps']>((resolve, reject) => {
    worker.on('message', (message: FromConnectionWorker) => {
      if (message.kind === 'ready') resolve(message.deps)
      else hear(message)
    })
    worker.on('error', error => {
      fail(error)
      reject(error)
    })
  })

  const names = await ready
  worker.unref()
  const deps = Object.entries(names).map(([port, methods]) => {
    return [
      port,
      Object.fromEntries(methods.map(name => [name, (...args: unknown[]) => call(port, name, args)])),
    ] as const
  })
  const { store, ...inner } = Object.fromEntries(deps)
  let closed: Promise<void> | undefined
  async function close(): Promise<void> {
    const answered = call('store', 'close', [])
    whyNot ??= new Error('the store is closed')
    await answered.catch(error => log.warn({ err: error }, 'the store could not write all it wanted to at its end'))
    await worker.terminate()
  }
  return {
    ...store,
    ...inner,
    refuse: (refusal: unknown) => void call('store', 'refuse', [refusal]).catch(() => undefined),
    listen: notices.listen,
    notify(topic: string, payload: unknown) {
      notices.notify(topic, payload)
      if (!whyNot) tellOthers({ topic, payload })
    },
    close() {
      closed ??= close()
      return closed
    },
  } as unknown as GatewayStore
}

/** Peers wait at an endpoint, and what they bring may be sent again, so none waits longer for a server that is silent. */
const patienceMs = 10_000

/** What an endpoint asks. Whoever works needs to know what became of it, however long that takes. */
function isImpatient(name: string): boolean {
  return /^(admit|consumeOnce|count|find|has|is|list)/.test(name)
}

/** Work that comes back need not bring along what arrived: the store has it. */
function leaveOutRaw(arg: unknown): unknown {
  const { content, message } = (arg ?? {}) as {
    readonly content?: { raw?: unknown }
    readonly message?: { raw?: unknown }
  }
  if (content?.raw !== undefined) return { ...(arg as object), content: { ...content, raw: undefined } }
  if (message?.raw !== undefined) return { ...(arg as object), message: { ...message, raw: undefined } }
  return arg
}

function readFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return fields.err === undefined ? fields : { ...fields, err: receiveError(fields.err as SentError) }
}
