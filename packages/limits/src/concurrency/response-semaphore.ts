// Bounds the HTTP responses in progress for each key.

import { Rejection } from '@postern/message/errors'
import type { SemaphoreOptions } from './keyed-slots.ts'
import { createKeyedSlots } from './keyed-slots.ts'

/** A limit on the responses in progress for one key, a person or an address. Further ones wait. */
export interface ResponseSemaphore {
  /** Runs `answer` in a slot, which its response uses until the peer has received it. @throws Rejection `rate_limited` when too many wait */
  pass(key: string, env: unknown, answer: () => Promise<Response>): Promise<Response>
}

/** Creates a limit on the responses in progress for each key. */
export function createResponseSemaphore(options: SemaphoreOptions): ResponseSemaphore {
  const refuse = () => new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
  const slots = createKeyedSlots(options, refuse)
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

/** Calls `done` when the peer has the response. Node's server reports that in its bindings; without them the slot is free at once. */
function onceTaken(env: unknown, done: () => void): void {
  const { outgoing } = (env as { readonly outgoing?: Outgoing } | null | undefined) ?? {}
  if (!outgoing || outgoing.closed) done()
  else outgoing.once('close', done)
}
