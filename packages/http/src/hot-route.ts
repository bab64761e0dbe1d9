// Declares a hot route: one handler that the gateway runs behind Hono, or straight behind its socket.
import type { Context } from 'hono'
import { peerAddress } from './request/peer-address.ts'
import type { IncomingRequest } from './request/socket-request.ts'
import type { PlainAnswer } from './response/plain-answer.ts'
import { toResponse } from './response/plain-answer.ts'

/** A request to a hot route. */
export interface HotCall {
  readonly request: IncomingRequest
  /** The network address of the client. */
  readonly from: string
  /** The path, without percent-encoding. */
  readonly path: string
  /** The agent in the path, if the route has one. */
  readonly agent: string | undefined
  /** Returns the values of a parameter in the query, or undefined if there is none. */
  queries(name: string): readonly string[] | undefined
}

/** Answers a request to a hot route. It reads the body with `readBody`, and throws only if the program has a bug. */
export type HotHandler = (call: HotCall) => Promise<PlainAnswer>

const hotHandlers = new WeakMap<object, HotHandler>()

/**
 * Creates the handler of a hot route for Hono. Where nothing but the gateway's own checks comes before it, the gateway runs `handle` itself, without
 * the objects of Hono and of the Fetch standard.
 */
export function createHotRoute(handle: HotHandler): (context: Context) => Promise<Response> {
  async function answerInHono({ env, req }: Context): Promise<Response> {
    const call = {
      request: req.raw,
      from: peerAddress(env),
      path: req.path,
      agent: req.param('agent'),
      queries: (name: string) => req.queries(name),
    }
    return toResponse(await handle(call), env)
  }
  hotHandlers.set(answerInHono, handle)
  return answerInHono
}

/** Returns the handler of a hot route, or undefined for every other route of Hono. */
export function findHotHandler(route: object): HotHandler | undefined {
  return hotHandlers.get(route)
}
