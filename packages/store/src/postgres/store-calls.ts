// Wraps the methods of the store on PostgreSQL as calls that run at the same time.
import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '@postern/message'
import { listUnloadedMembers } from '../sql/lazy-members.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { createNoAnswerError } from './connection/store-errors.ts'

/** Wraps the store's methods, and counts the running calls. */
export interface StoreCalls {
  /** Returns the functions of `methods` as calls that may wait for the server. */
  wrap(methods: object): Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
  /** Refuses further calls, waits at most `maxCloseMs` for the running calls, and then runs `work` as the last call. */
  closeWith<T>(work: () => Promise<T>): Promise<T>
  hasEnded(): boolean
}

type Work = () => unknown

interface StoreCallDeps extends Pick<Sql, 'read'> {
  /** Runs a call with the connections for its caller. */
  readonly run?: <T>(call: () => T) => T
}

/** The time until the next attempt to reach the server, ms. */
const retryMs = 200

/** The maximum time for which an endpoint waits for a server that does not answer, ms. Its peer waits, too, and may send the message again. */
const defaultMaxWaitMs = 10_000

/** The maximum time for which closing waits for running calls, ms. A gateway stops within ten seconds (`stopOnSignals`). */
const maxCloseMs = 5_000

export function createStoreCalls(
  { read, run = work => work() }: StoreCallDeps,
  maxWaitMs = defaultMaxWaitMs,
): StoreCalls {
  const keepAlive = createKeepAlive()
  let hasEnded = false

  async function call(name: string, work: Work): Promise<unknown> {
    if (hasEnded) throw new Error('the store is closed')
    keepAlive.acquire()
    try {
      return await run(async () => {
        const value = await work()
        // Lazy members are loaded here, because their later readers cannot wait for the server.
        const load = isLease(name) ? readUntilDone : read
        await Promise.all(listUnloadedMembers(value).map(operation => load(operation)))
        return value
      })
    } finally {
      keepAlive.release()
    }
  }

  /** Repeats the query until the server answers, because leased work must reach its worker. */
  async function readUntilDone(operation: () => Operation<void>): Promise<void> {
    for (;;) {
      try {
        return await read(operation)
      } catch (error) {
        if (!(error instanceof Unavailable) || hasEnded) throw error
        await delay(retryMs)
      }
    }
  }

  function wrapMethod(name: string, method: (...args: unknown[]) => unknown) {
    const callMethod = (...args: unknown[]) => call(name, () => method(...args))
    return hasTimeLimit(name) ? (...args: unknown[]) => limitWait(callMethod(...args), maxWaitMs) : callMethod
  }

  return {
    wrap(methods) {
      const functions = Object.entries(methods).filter(([, member]) => typeof member === 'function')
      return Object.fromEntries(functions.map(([name, method]) => [name, wrapMethod(name, method.bind(methods))]))
    },
    async closeWith(work) {
      hasEnded = true
      await limitWait(keepAlive.waitUntilFree(), maxCloseMs).catch(() => undefined)
      keepAlive.acquire()
      try {
        return await work()
      } finally {
        keepAlive.end()
      }
    },
    hasEnded: () => hasEnded,
  }
}

/** Returns true for the calls of an endpoint. The calls of a worker have no time limit, because it must know the result of its work. */
function hasTimeLimit(name: string): boolean {
  return /^(?:admit|consumeOnce|count|find|has|is|list)/.test(name)
}

const isLease = (name: string): boolean => name.startsWith('lease')

/** Waits at most `timeoutMs` for `promise` and ignores a later outcome. @throws Unavailable */
async function limitWait<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createNoAnswerError()), timeoutMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Keeps the process alive while a call is running. The connections do not keep it alive, so that a process that cannot start may end without closing
 * the store.
 */
function createKeepAlive() {
  const timer = setInterval(() => {}, 2 ** 31 - 1).unref()
  let count = 0
  let onFree = () => {}
  return {
    acquire(): void {
      count += 1
      if (count === 1) timer.ref()
    },
    release(): void {
      count -= 1
      if (count > 0) return
      timer.unref()
      onFree()
    },
    async waitUntilFree(): Promise<void> {
      if (count === 0) return
      await new Promise<void>(resolve => {
        onFree = resolve
      })
    },
    end: () => clearInterval(timer),
  }
}
