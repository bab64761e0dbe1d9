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
  run(key: string, bindings: unknown, answer: () => Promise<Response>): Promise<Response>
}

/** Creates a limit on the responses in progress for each key. */
export function createResponseSemaphore(options: SemaphoreOptions): ResponseSemaphore {
  const createRejection = () =>
    new Rejection('rate_limited', 'Cannot answer: too many requests at once', { retryAfter: 5 })
  const slots = createKeyedSlots(options, createRejection)
  return {
    async run(key, bindings, answer) {
      await slots.acquire(key)
      const release = () => slots.release(key)
      try {
        const response = await answer()
        onResponseSent(bindings, release)
        return response
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

interface NodeResponse {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
}

/**
 * Calls `callback` when the peer has received the response. `@hono/node-server` passes the Node response as `bindings.outgoing`; without it,
 * `callback` runs at once.
 */
function onResponseSent(bindings: unknown, callback: () => void): void {
  const { outgoing } = (bindings as { readonly outgoing?: NodeResponse } | null | undefined) ?? {}
  if (!outgoing || outgoing.closed) callback()
  else outgoing.once('close', callback)
}
