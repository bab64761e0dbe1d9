import { ReadableStream } from 'node:stream/web'
import type { FetchRequest, OpenStream } from '@postern/core'

/** Bytes of one answer at most. */
const maxBytes = 16 * 1024 * 1024
/** Longest pause in an answer: tools may work for minutes, ms. */
const idleMs = 10 * 60_000
const beginMs = 60_000

const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * The guarded fetch in the form that the SDK takes. A server is not listened to between calls: it is told that we take no stream by GET
 * (405), which the specification allows.
 */
export function createMcpFetch(openStream: OpenStream): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init
    if (method === 'GET') return new Response(null, { status: 405 })
    if (body !== undefined && body !== null && typeof body !== 'string') throw new TypeError('Only text can be sent')
    const answer = await openStream(String(input), {
      method: method as NonNullable<FetchRequest['method']>,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
      timeoutMs: beginMs,
      idleMs,
      maxBytes,
    })
    const { status } = answer
    if (!emptyStatuses.has(status)) {
      return new Response(ReadableStream.from(answer.body) as BodyInit, { status, headers: answer.headers })
    }
    return new Response(null, { status, headers: answer.headers })
  }
}
