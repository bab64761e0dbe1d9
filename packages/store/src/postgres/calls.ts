import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '@postern/core'
import { listUnreadMembers } from '../together/read-members.ts'
import { noAnswer } from './connection/store-errors.ts'
import type { Readings } from './transactions/readings.ts'

/** Calls of the store's methods. */
interface StoreCalls {
  /** Each function of `methods` as one that can be called at any time. */
  wrap(methods: object): Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
  /** The last call, behind those that wait for their answers; as long as these take no longer than `longestLastMs`. */
  end<T>(work: () => Promise<T>): Promise<T>
  hasEnded(): boolean
}

type Work = () => unknown

export function createStoreCalls({ read }: Readings): StoreCalls {
  const life = createProcessHold()
  let hasEnded = false

  async function call(name: string, work: Work): Promise<unknown> {
    if (hasEnded) throw new Error('the store is closed')
    life.hold()
    try {
      const value = await read(work, name)
      // Members that are read when somebody looks at them are read now: then nobody can wait for the server.
      const readAll = isLease(name) ? readUntilDone : readMember
      await Promise.all(listUnreadMembers(value).map(member => readAll(member, `member of ${name}`)))
      return value
    } finally {
      life.release()
    }
  }

  const readMember = (member: Work, name: string) => read(member, name)

  /** What was leased is leased: it has to come to who works it. */
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
    return isImpatient(name) ? (...args: unknown[]) => limitWait(run(...args), patienceMs) : run
  }

  return {
    wrap(methods) {
      const functions = Object.entries(methods).filter(([, member]) => typeof member === 'function')
      return Object.fromEntries(functions.map(([name, method]) => [name, wrapOne(name, method.bind(methods))]))
    },
    async end(work) {
      hasEnded = true
      await limitWait(life.whenFree(), longestLastMs).catch(() => undefined)
      life.hold()
      try {
        return await work()
      } finally {
        life.end()
      }
    },
    hasEnded: () => hasEnded,
  }
}

/** What an endpoint asks. Whoever works needs to know what became of it, however long that takes. */
function isImpatient(name: string): boolean {
  return /^(?:admit|consumeOnce|count|find|has|is|list)/.test(name)
}

const isLease = (name: string): boolean => name.startsWith('lease')

/** Until a server that was away is asked again, ms. */
const retryMs = 200

/** Peers wait at an endpoint, and what they bring may be sent again, so none waits longer for a server that is silent, ms. */
const patienceMs = 10_000

/** A gateway that stops takes ten seconds at most (`stopOnSignals`), ms. */
const longestLastMs = 5_000

/** What `promise` comes to afterwards is nobody's concern. @throws Unavailable */
async function limitWait<Value>(promise: Promise<Value>, longestMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswer()), longestMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Connections keep no process alive: one that cannot start may end without the store. Somebody who waits for an answer does. */
function createProcessHold() {
  const timer = setInterval(() => {}, 2 ** 31 - 1).unref()
  let count = 0
  let onFree = () => {}
  return {
    hold(): void {
      count += 1
      if (count === 1) timer.ref()
    },
    release(): void {
      count -= 1
      if (count > 0) return
      timer.unref()
      onFree()
    },
    async whenFree(): Promise<void> {
      if (count === 0) return
      await new Promise<void>(resolve => {
        onFree = resolve
      })
    },
    end: () => clearInterval(timer),
  }
}
