import { hash } from 'node:crypto'
import type { ByteBudget, ByteHold } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core/errors'

interface ByteBudgetOptions {
  /** Bytes of all owners together. */
  readonly total: number
  /** Bytes of one owner; default: half of `total`. */
  readonly perOwner?: number | undefined
  /** The message for a peer. */
  readonly refusal: string
}

interface Owner {
  bytes: number
  holds: number
}

/**
 * Counts the held bytes, and refuses what exceeds the budget. A single hold may have any size: otherwise a large one
 * could never be had. Keeps nothing for an owner without a hold.
 */
export function createByteBudget({ total, perOwner = total / 2, refusal }: ByteBudgetOptions): ByteBudget {
  const owners = new Map<string, Owner>()
  let held = 0

  function openOwner(name: string): Owner {
    const owner = owners.get(name) ?? { bytes: 0, holds: 0 }
    owners.set(name, owner)
    owner.holds += 1
    return owner
  }

  function closeOwner(name: string, owner: Owner): void {
    owner.holds -= 1
    if (owner.holds === 0) owners.delete(name)
  }

  /** `mine`: the bytes of the growing hold so far. */
  function check(owner: Owner, mine: number, bytes: number): void {
    if (owner.bytes > mine && owner.bytes + bytes > perOwner)
      throw new Rejection('rate_limited', refusal, { retryAfter: 5 })
    if (held > mine && held + bytes > total) throw new Unavailable(refusal, { retryAfter: 30 })
  }

  return {
    hold(name): ByteHold {
      const owner = openOwner(name)
      let mine = 0
      let isOpen = true
      return {
        add(bytes) {
          check(owner, mine, bytes)
          mine += bytes
          owner.bytes += bytes
          held += bytes
        },
        release() {
          if (!isOpen) return
          isOpen = false
          owner.bytes -= mine
          held -= mine
          closeOwner(name, owner)
        },
      }
    },
  }
}

interface RateLimitOptions {
  readonly perMinute: number
  /** The number of events at once after a pause; default `perMinute`. */
  readonly burst?: number | undefined
  /** The number of remembered keys; beyond it, keys not seen for long are forgotten. Default 10 000. */
  readonly maxKeys?: number | undefined
  /** The message for a peer. */
  readonly refusal?: string | undefined
}

export interface RateLimit {
  /** @throws Rejection `rate_limited` with `retryAfter` in seconds */
  take(key: string): void
  /** As `take`, without using a token. */
  check(key: string): void
}

/**
 * A token bucket per key; `now` in milliseconds. Each bucket is stored as the instant at which it will be full again,
 * so a refusal changes nothing.
 */
export function createRateLimit(options: RateLimitOptions, now: () => number): RateLimit {
  const { perMinute, burst = perMinute, maxKeys = 10_000 } = options
  const { refusal = 'Cannot take request: too many in a short time' } = options
  if (!(perMinute > 0)) throw new RangeError('perMinute must be above 0')
  const msPerToken = 60_000 / perMinute
  const msPerBucket = msPerToken * Math.max(1, burst)
  const fullAt = createRecentMap(maxKeys)
  function fullAfter(key: string): number {
    const at = now()
    const known = fullAt.get(key) ?? at
    // Further ahead than a whole bucket: the clock was set back.
    const full = known > at + msPerBucket ? at : Math.max(known, at)
    const waitMs = full + msPerToken - msPerBucket - at
    if (waitMs > 0) throw new Rejection('rate_limited', refusal, { retryAfter: Math.ceil(waitMs / 1000) })
    return full + msPerToken
  }

  return {
    take: key => fullAt.set(key, fullAfter(key)),
    check: key => void fullAfter(key),
  }
}

/** Constant time, bounded memory: two generations, and when the younger one is full the older one is forgotten. */
function createRecentMap(maxKeys: number) {
  let young = new Map<string, number>()
  let old = new Map<string, number>()

  function set(key: string, value: number): void {
    if (young.size >= maxKeys / 2 && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }

  function get(key: string): number | undefined {
    const value = young.get(key) ?? old.get(key)
    if (value !== undefined && !young.has(key)) set(key, value)
    return value
  }

  return { get, set }
}

interface SemaphoreOptions {
  /** The maximum of running tasks, per key. */
  readonly width: number
  /** The maximum of waiting tasks, per key; a further one is refused. */
  readonly queue: number
}

interface KeyedSemaphore {
  /** Runs `task` as soon as a slot of `key` is free, or rejects with the signal's reason. */
  pass<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
}

/** Bounds the tasks that run at once, per key. */
export function createKeyedSemaphore(options: SemaphoreOptions): KeyedSemaphore {
  const refuse = () => new Unavailable('Cannot fetch: too many requests wait for this host')
  const slots = createSlots(options, refuse)
  return {
    async pass(key, signal, task) {
      const waiting = slots.enter(key, signal)
      if (waiting) await waiting
      try {
        return await task()
      } finally {
        slots.leave(key)
      }
    },
  }
}

/** Bounds the responses at a time for one key, a person or an address; others wait. */
export interface ResponseSemaphore {
  /** A response uses its slot until the peer has received it. @throws Rejection rate_limited when too many wait */
  pass(key: string, env: unknown, answer: () => Promise<Response>): Promise<Response>
}

export function createResponseSemaphore(options: SemaphoreOptions): ResponseSemaphore {
  const refuse = () => new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
  const slots = createSlots(options, refuse)
  return {
    async pass(key, env, answer) {
      await slots.enter(key)
      const leave = () => slots.leave(key)
      try {
        const response = await answer()
        onceTaken(env, leave)
        return response
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

interface Outgoing {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** Node's server reports the end of a response in its bindings; without them the slot is free at once. */
function onceTaken(env: unknown, done: () => void): void {
  const { outgoing } = (env as { readonly outgoing?: Outgoing } | null | undefined) ?? {}
  if (!outgoing || outgoing.closed) done()
  else outgoing.once('close', done)
}

interface KeyQueue {
  inside: number
  /** In the order of arrival; tasks that give up remove themselves. */
  readonly waiting: Set<() => void>
}

/** The slots of each key. Holds nothing for a key that is idle. */
function createSlots({ width, queue }: SemaphoreOptions, refuse: () => Error) {
  const queues = new Map<string, KeyQueue>()
  return {
    /** Undefined when a slot is free, or else the wait for one. */
    enter(key: string, signal?: AbortSignal): Promise<void> | undefined {
      const queued = queues.get(key) ?? { inside: 0, waiting: new Set() }
      queues.set(key, queued)
      if (queued.inside >= width) {
        if (queued.waiting.size >= queue) throw refuse()
        return waitIn(queued.waiting, signal)
      }
      queued.inside += 1
      return undefined
    },
    /** The slot goes to the next waiting task. */
    leave(key: string): void {
      const queued = queues.get(key)
      const [next] = queued?.waiting ?? []
      if (next) next()
      else if (queued && --queued.inside === 0) queues.delete(key)
    },
  }
}

function waitIn(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiting.delete(enter)
      reject(signal?.reason)
    }
    const enter = () => {
      waiting.delete(enter)
      signal?.removeEventListener('abort', giveUp)
      resolve()
    }
    if (signal?.aborted) return reject(signal.reason)
    waiting.add(enter)
    signal?.addEventListener('abort', giveUp, { once: true })
  })
}

/** Counts what is open at a time, per key. A call returns what ends one; calling that twice counts once. */
export function createOpenCount(most: number, refuse: () => Error): (key: string) => () => void {
  const counts = new Map<string, number>()
  return key => {
    const count = counts.get(key) ?? 0
    if (count >= most) throw refuse()
    counts.set(key, count + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = (counts.get(key) ?? 1) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    }
  }
}

/**
 * Values for a limited time, with a clock in ms; the least recently used is forgotten first. A plain `Map`, because lru-cache 11 takes its memory for all
 * keys at the start: 7.7 MB for 12 caches of 10,000.
 */
export function createExpiringMap<Value>(maxKeys: number, now: () => number = () => 0) {
  const held = new Map<string, { readonly value: Value; readonly until: number }>()
  return {
    get(key: string): Value | undefined {
      const entry = held.get(key)
      if (!entry) return undefined
      held.delete(key)
      if (entry.until <= now()) return undefined
      held.set(key, entry)
      return entry.value
    },
    /** Keeps `value` for `ms` from now; default: until others take its room. */
    set(key: string, value: Value, ms = Number.POSITIVE_INFINITY): void {
      held.delete(key)
      held.set(key, { value, until: now() + ms })
      if (held.size > maxKeys) held.delete(held.keys().next().value as string)
    },
    delete(key: string): void {
      held.delete(key)
    },
  }
}

/** Those who ask for one thing at the same time share one answer: runs `work`, or joins it when it is under way for this key already. */
export function createSingleFlight<Result>() {
  const running = new Map<string, Promise<Result>>()
  return (key: string, work: () => Promise<Result>): Promise<Result> => {
    const underWay = running.get(key)
    if (underWay) return underWay
    const begun = work().finally(() => running.delete(key))
    running.set(key, begun)
    return begun
  }
}

/** Shorter texts are made anew sooner than looked up. */
const minLength = 2_048
/** UTF-16 code units of all texts whose results are held. */
const maxChars = 4_000_000

interface Made<Value> {
  readonly value: Value
  readonly length: number
}

/**
 * Remembers what was made of long texts, the least recently used forgotten first: strangers have agents say what costs the most to
 * work on, and then ask for it again and again. `make` must be pure.
 */
export function memoize<Value>() {
  const known = new Map<string, Made<Value>>()
  let held = 0

  function forget(key: string): void {
    held -= known.get(key)?.length ?? 0
    known.delete(key)
  }

  return (text: string, make: () => Value): Value => {
    if (text.length < minLength) return make()
    const key = hash('sha256', text)
    const made = known.get(key) ?? { value: make(), length: text.length }
    forget(key)
    known.set(key, made)
    held += made.length
    for (const oldest of known.keys()) {
      if (held <= maxChars) break
      forget(oldest)
    }
    return made.value
  }
}
