// Wraps the methods of the store on PostgreSQL as calls that run at the same time.
import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '@postern/message'
import { listUnreadMembers } from '../batching/read-members.ts'
import { createNoAnswerError } from './connection/store-errors.ts'
import type { Readings } from './transactions/readings.ts'

/** Wraps the store's methods, and counts the running calls. */
export interface StoreCalls {
  /** Returns the functions of `methods` as calls that may wait for the server. */
  wrap(methods: object): Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
  /** Runs the last call after the running calls, for which it waits at most `maxCloseMs`. */
  end<T>(work: () => Promise<T>): Promise<T>
  hasEnded(): boolean
}

type Work = () => unknown

/** The time until the next attempt to reach the server, ms. */
const retryMs = 200

/** The maximum time for which an endpoint waits for a server that does not answer, ms. Its peer waits, too, and may send the message again. */
const defaultPatienceMs = 10_000

/** The maximum time for which closing waits for running calls, ms. A gateway stops within ten seconds (`stopOnSignals`). */
const maxCloseMs = 5_000

export function createStoreCalls({ read }: Pick<Readings, 'read'>, patienceMs = defaultPatienceMs): StoreCalls {
  const processHold = createProcessHold()
  let hasEnded = false

  async function call(name: string, work: Work): Promise<unknown> {
    if (hasEnded) throw new Error('the store is closed')
    processHold.acquire()
    try {
      const value = await read(work, name)
      // Members that are loaded at their first access are loaded now, because their later readers cannot wait for the server.
      const readAll = isLease(name) ? readUntilDone : readMember
      await Promise.all(listUnreadMembers(value).map(member => readAll(member, `member of ${name}`)))
      return value
    } finally {
      processHold.release()
    }
  }

  const readMember = (member: Work, name: string) => read(member, name)

  /** Repeats the query until the server answers, because leased work must reach its worker. */
  async function readUntilDone(member: Work, name: string): Promise<unknown> {
    for (;;) {
      try {
        return await read(member, name)
      } catch (error) {
        if (!(error instanceof Unavailable) || hasEnded) throw error
        await delay(retryMs)
      }
    }
  }

  function wrapOne(name: string, method: (...args: unknown[]) => unknown) {
    const run = (...args: unknown[]) => call(name, () => method(...args))
    return hasTimeLimit(name) ? (...args: unknown[]) => limitWait(run(...args), patienceMs) : run
  }

  return {
    wrap(methods) {
      const functions = Object.entries(methods).filter(([, member]) => typeof member === 'function')
      return Object.fromEntries(functions.map(([name, method]) => [name, wrapOne(name, method.bind(methods))]))
    },
    async end(work) {
      hasEnded = true
      await limitWait(processHold.waitUntilFree(), maxCloseMs).catch(() => undefined)
      processHold.acquire()
      try {
        return await work()
      } finally {
        processHold.end()
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
function createProcessHold() {
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
