import type { Log } from '@postern/core'
import { peerAddress } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { Hono } from 'hono'
import { callbackPath } from '../issuer/documents.ts'
import type { Dispatch } from './dispatch.ts'
import type { TaskSeats } from './task-book.ts'

interface CallbackDeps {
  readonly tasks: TaskSeats
  readonly dispatch: Dispatch
  readonly log: Log
  now(): number
}

/**
 * Where an agent's host tells us that a task has gone on, as after a payment elsewhere (A2A push notifications). That it
 * tells us is all we take from it: what it has to say we ask the agent itself.
 */
export function createCallbackRoutes({ tasks, dispatch, log, now }: CallbackDeps): Hono {
  const rate = createRateLimit({ perMinute: 600 }, now)
  return new Hono().post(callbackPath, async context => {
    rate.take(peerAddress(context.env))
    const seat = tasks.find(context.req.header('x-a2a-notification-token') ?? '')
    await context.req.raw.body?.cancel()
    // The same answer for everybody: of what is busy or over we know all that there is.
    if (seat && !seat.isBusy) {
      void dispatch.refresh(seat).catch(err => log.info({ err }, 'a task could not be read again'))
    }
    return context.body(null, 202)
  })
}
