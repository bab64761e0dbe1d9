import { Rejection } from '@postern/core'

/** Lets so many requests of one key, a person or an address, be answered at a time; others wait their turn. */
export interface ResponseSemaphore {
  /** An answer takes room until it is taken, its question while it comes. @throws Rejection rate_limited when too many wait */
  pass(key: string, env: unknown, answer: () => Promise<Response>): Promise<Response>
}

export interface ResponseSemaphoreOptions {
  readonly width: number
  /** How many may wait, per key; the next one is turned away. */
  readonly queue: number
}

interface KeyQueue {
  inside: number
  readonly waiting: (() => void)[]
}

/** Holds nothing for whoever asks for nothing. */
export function createResponseSemaphore({ width, queue }: ResponseSemaphoreOptions): ResponseSemaphore {
  const lanes = new Map<string, KeyQueue>()

  async function enter(key: string): Promise<() => void> {
    const lane = lanes.get(key) ?? { inside: 0, waiting: [] }
    lanes.set(key, lane)
    if (lane.inside < width) lane.inside += 1
    else if (lane.waiting.length < queue) await new Promise<void>(resolve => lane.waiting.push(resolve))
    else throw new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
    return () => leave(key, lane)
  }

  /** The place of the one who leaves goes to the next who waits. */
  function leave(key: string, lane: KeyQueue): void {
    const next = lane.waiting.shift()
    if (next) next()
    else if (--lane.inside === 0) lanes.delete(key)
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

/** By the bindings of the Node server; without them at once. */
function onceTaken(env: unknown, done: () => void): void {
  const { outgoing } = (env as { readonly outgoing?: Outgoing } | null | undefined) ?? {}
  if (!outgoing || outgoing.closed) done()
  else outgoing.once('close', done)
}
