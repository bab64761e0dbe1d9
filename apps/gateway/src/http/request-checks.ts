// Checks a request before its route runs: rehearsals, rate limits and the memory for its body.
import type { IncomingRequest } from '@postern/http'
import { networkOf } from '@postern/http'
import type { SharedBodyBudget } from '@postern/limits'
import type { ByteReservation } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { Channel } from '@postern/pipeline'
import { markSelfTest } from '@postern/pipeline'
import { mutatingMethods } from '../observe/refusal-recorder.ts'
import { isOwnVisit } from '../system/local-fetch.ts'
import type { Limits } from './clients/limits.ts'
import type { UnknownProxies } from './clients/unknown-proxies.ts'
import type { Rehearsals } from './rehearsals.ts'
import { rehearsalField } from './rehearsals.ts'

export interface RequestCheckDeps {
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  readonly limits: Pick<Limits, 'consumeAddress'>
  /** The budget of memory for the bodies of all requests together. */
  readonly bodies: SharedBodyBudget
  readonly unknownProxies: Pick<UnknownProxies, 'checkRequest'>
  /** Recognizes the gateway's own test requests, whose refusals are not listed. */
  readonly rehearsals: Pick<Rehearsals, 'consume'>
  /** False if only the other gateways at this address accept messages. */
  readonly acceptsMessages: boolean
}

/** A request that has matched its routes. */
interface ArrivedRequest {
  readonly request: IncomingRequest
  /** The server's own objects for the request. */
  readonly env: unknown
  /** The network address of the client. */
  readonly from: string
  readonly path: string
  /** The owner of the route: a channel, or the gateway itself. */
  readonly owner: string
}

/**
 * Checks a request. Every request passes these checks, whether Hono serves it or not. Returns the reservation for the body of a request that may have
 * one. The caller releases it after the answer.
 * @throws Rejection `rate_limited`; Unavailable
 */
export type CheckRequest = (arrived: ArrivedRequest) => ByteReservation | undefined

export function createRequestChecks(deps: RequestCheckDeps): CheckRequest {
  const { channels, limits, bodies, unknownProxies, rehearsals, acceptsMessages } = deps
  return ({ request, env, from, path, owner }) => {
    const { headers, method } = request
    unknownProxies.checkRequest(env, headers)
    const rehearsalEnd = rehearsals.consume(headers.get(rehearsalField) ?? '')
    if (rehearsalEnd) markSelfTest(request, rehearsalEnd)
    if (countsAgainstLimit({ method, path }, channels) && !isOwnVisit(env)) {
      if (!acceptsMessages)
        throw new Unavailable('Cannot take message: this gateway takes none, but others at its address do', {
          retryAfter: 5,
        })
      limits.consumeAddress(from)
    }
    return method === 'GET' ? undefined : bodies.forChannel(owner).reserve(networkOf(from))
  }
}

/** Returns true if a request counts against the limit of its address: changes and operations count, and documents are cheap. */
function countsAgainstLimit(
  { method, path }: { readonly method: string; readonly path: string },
  channels: readonly Pick<Channel, 'descriptor'>[],
): boolean {
  if (mutatingMethods.has(method)) return !path.startsWith('/operator/')
  return channels.some(({ descriptor }) => descriptor.operationPaths?.test(path))
}
