// Answers requests with errors in the form of HTTP and limits the memory that large answers use.
import { createByteBudget } from '@postern/limits'
import type { ChannelContext } from '@postern/pipeline'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { A2aFault } from '../format/errors.ts'
import { toErrorDetails, toFault, wholeSeconds } from '../format/errors.ts'

type Headers = Readonly<Record<string, string>>

export const jsonHeaders: Headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }

/** Formats an error for a binding, and logs what an operator should know. */
export function openFault(error: unknown, { system }: ChannelContext): A2aFault {
  const fault = toFault(error)
  if (fault.row.http === 500) system.log.error({ err: error, via: 'a2a' }, 'request failed')
  if (fault.row.http === 503) system.log.warn({ err: error, via: 'a2a' }, 'request answered as unavailable')
  return fault
}

export function faultHeaders({ row: { http }, headers, retryAfter }: A2aFault): Headers {
  return {
    ...headers,
    ...(retryAfter !== undefined && { 'retry-after': String(wholeSeconds(retryAfter)) }),
    // The rest of the body is not read.
    ...(http === 413 && { connection: 'close' }),
  }
}

/** Answers with google.rpc.Status in JSON, the error format of the HTTP+JSON binding (A2A §11.6). */
export function answerStatus(
  c: Context,
  error: unknown,
  gateway: ChannelContext,
  extraHeaders: Headers = {},
): Response {
  const fault = openFault(error, gateway)
  const { http, grpc } = fault.row
  const status = { code: http, status: grpc, message: fault.message, details: toErrorDetails(fault) }
  const headers = { ...jsonHeaders, ...faultHeaders(fault), ...extraHeaders }
  return c.body(JSON.stringify({ error: status }), http as ContentfulStatusCode, headers)
}

export type LargeAnswers = ReturnType<typeof createLargeAnswers>

interface AnswerBounds {
  /** The length in characters below which answers are not counted. */
  readonly largeFrom: number
  /** The most bytes of pending answers to one caller. */
  readonly perCaller: number
  /** The most bytes of pending answers in total. */
  readonly total: number
}

const mib = 1024 * 1024
const defaultBounds: AnswerBounds = { largeFrom: 512 * 1024, perCaller: 64 * mib, total: 128 * mib }
const chunkBytes = 256 * 1024
const noHeaders: Headers = {}
const refusal = 'Cannot answer: earlier answers have not been taken yet'

/**
 * Creates the limit of large answers. It counts their bytes until the client has read them, which the client may delay. There is one budget for
 * each caller and one for all. The first answer is always allowed, regardless of its size, because otherwise the caller could never get it.
 */
export function createLargeAnswers({ largeFrom, perCaller, total }: AnswerBounds = defaultBounds) {
  const budget = createByteBudget({ total, perOwner: perCaller, refusal })

  /**
   * Counts bytes as pending, and returns the function that releases them, which may be called twice.
   * @throws Rejection `rate_limited` if the budget is used up
   */
  function hold(bytes: number, owner: string): () => void {
    if (bytes < largeFrom) return () => {}
    const reservation = budget.hold(owner)
    try {
      reservation.add(bytes)
    } catch (error) {
      reservation.release()
      throw error
    }
    return reservation.release
  }

  return {
    /** The length in characters below which answers are not counted. */
    largeFrom,
    hold,
    /** Returns the body of an answer. A small answer stays as it is. @throws Rejection `rate_limited` if the budget is used up */
    open(
      text: string,
      owner: string,
    ): { readonly body: string | ReadableStream<Uint8Array>; readonly headers: Headers } {
      if (text.length < largeFrom) return { body: text, headers: noHeaders }
      const bytes = Buffer.from(text)
      const body = streamInChunks(bytes, hold(bytes.length, owner))
      return { body, headers: { 'content-length': String(bytes.length) } }
    },
  }
}

/** Streams the bytes in chunks. It calls `finish` when all are read or the reader cancels. */
function streamInChunks(bytes: Uint8Array, finish: () => void): ReadableStream<Uint8Array> {
  let position = 0
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull(controller) {
      controller.enqueue(bytes.subarray(position, position + chunkBytes))
      position += chunkBytes
      if (position < bytes.length) return
      finish()
      controller.close()
    },
    cancel: finish,
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
