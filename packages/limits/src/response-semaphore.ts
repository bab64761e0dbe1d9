import { Rejection } from '@postern/core'

/** Bounds the responses at a time for one key, a person or an address; others wait. */
export interface ResponseSemaphore {
  /** A response uses its slot until the peer has received it. @throws Rejection rate_limited when too many wait */
  pass(key: string, env: unknown, answer: () => Promise<Response>): Promise<Response>
}

export interface ResponseSemaphoreOptions {
  readonly width: number
  /** The maximum of waiting requests, per key; a further one is refused. */
  readonly queue: number
}

interface KeyQueue {
  inside: number
  readonly waiting: (() => void)[]
}

/** Holds nothing for a key without requests. */
export function createResponseSemaphore({ width, queue }: ResponseSemaphoreOptions): ResponseSemaphore {
  const queues = new Map<string, KeyQueue>()

  async function enter(key: string): Promise<() => void> {
    const queued = queues.get(key) ?? { inside: 0, waiting: [] }
    queues.set(key, queued)
    if (queued.inside < width) queued.inside += 1
    else if (queued.waiting.length < queue) await new Promise<void>(resolve => queued.waiting.push(resolve))
    else throw new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
    return () => leave(key, queued)
  }

  /** The slot goes to the next waiting request. */
  function leave(key: string, queued: KeyQueue): void {
    const next = queued.waiting.shift()
    if (next) next()
    else if (--queued.inside === 0) queues.delete(key)
  }

  return {
    async pass(key, env, answer) {
      const leave = await enter(key)
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
