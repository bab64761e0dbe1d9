// Bounds the HTTP responses in progress for each key.

import { Rejection } from '@postern/message/errors'
import type { SemaphoreOptions } from './keyed-slots.ts'
import { createKeyedSlots } from './keyed-slots.ts'

/** A limit on the responses in progress for one key, a person or an address. Further responses wait. */
export interface ResponseSemaphore {
  /**
   * Runs `answer` in a slot, which the response occupies until the peer has received it.
   * @throws Rejection `rate_limited` when too many responses wait
   */
  run(key: string, env: unknown, answer: () => Promise<Response>): Promise<Response>
}

/** Creates a limit on the responses in progress for each key. */
export function createResponseSemaphore(options: SemaphoreOptions): ResponseSemaphore {
  const refuse = () => new Rejection('rate_limited', 'Cannot answer: too much is asked for at once', { retryAfter: 5 })
  const slots = createKeyedSlots(options, refuse)
  return {
    async run(key, env, answer) {
      await slots.acquire(key)
      const release = () => slots.release(key)
      try {
        const response = await answer()
        onResponseSent(env, release)
        return response
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

interface Outgoing {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** Calls `callback` when the peer has received the response, which Node's server reports in its bindings. Without bindings it calls `callback` at once. */
function onResponseSent(env: unknown, callback: () => void): void {
  const { outgoing } = (env as { readonly outgoing?: Outgoing } | null | undefined) ?? {}
  if (!outgoing || outgoing.closed) callback()
  else outgoing.once('close', callback)
}
