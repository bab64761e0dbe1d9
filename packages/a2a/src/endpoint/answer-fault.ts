import type { ChannelContext, Json } from '@postern/core'
import type { A2aFault } from '../format/errors.ts'
import { A2aRejection, toErrorDetails, toFault, wholeSeconds } from '../format/errors.ts'

export type Headers = Readonly<Record<string, string>>

export const jsonHeaders: Headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }

/** Formats an error for a binding, and logs what an operator should know. */
export function openFault(error: unknown, { platform }: ChannelContext): A2aFault {
  const fault = toFault(error)
  if (fault.row.http === 500) platform.log.error({ err: error, via: 'a2a' }, 'request failed')
  if (fault.row.http === 503) platform.log.warn({ err: error, via: 'a2a' }, 'request answered as unavailable')
  return fault
}

export function faultHeaders({ row: { http }, headers, retryAfter }: A2aFault): Headers {
  return {
    ...headers,
    ...(retryAfter !== undefined && { 'retry-after': String(wholeSeconds(retryAfter)) }),
    // The rest of the body is not worth reading.
    ...(http === 413 && { connection: 'close' }),
  }
}

/** google.rpc.Status in JSON, the error format of the HTTP+JSON binding (A2A §11.6). */
export function renderStatus(fault: A2aFault): Json {
  const { http, grpc } = fault.row
  const details = toErrorDetails(fault) as unknown as Json
  return { error: { code: http, status: grpc, message: fault.message, details } }
}

export function refuseMethod(allowed: string): A2aRejection {
  return new A2aRejection('methodNotAllowed', `Cannot take request: only ${allowed} is answered here`)
}
