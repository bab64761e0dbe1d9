// Renders errors as HTTP answers and limits the memory that large answers use.
import type { PlainAnswer, StreamedBody } from '@postern/http'
import { createByteBudget } from '@postern/limits'
import type { ChannelContext } from '@postern/pipeline'
import type { A2aError } from '../format/errors.ts'
import { toA2aError, toErrorDetails, wholeSeconds } from '../format/errors.ts'

type Headers = Readonly<Record<string, string>>

export const jsonHeaders: Headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }

/** Returns the A2A error for a thrown error. It logs errors that the operator should know. */
export function reportError(error: unknown, { system }: ChannelContext): A2aError {
  const a2aError = toA2aError(error)
  if (a2aError.type.http === 500) system.log.error({ err: error, via: 'a2a' }, 'request failed')
  if (a2aError.type.http === 503) system.log.warn({ err: error, via: 'a2a' }, 'request answered as unavailable')
  return a2aError
}

export function errorHeaders({ type: { http }, headers, retryAfter }: A2aError): Headers {
  return {
    ...headers,
    ...(retryAfter !== undefined && { 'retry-after': String(wholeSeconds(retryAfter)) }),
    // The gateway does not read the remaining body.
    ...(http === 413 && { connection: 'close' }),
  }
}

/** Answers with google.rpc.Status in JSON, the error format of the HTTP+JSON binding (A2A §11.6). */
export function renderStatus(error: unknown, gateway: ChannelContext, extraHeaders: Headers = {}): PlainAnswer {
  const a2aError = reportError(error, gateway)
  const { http, grpc } = a2aError.type
  const status = { code: http, status: grpc, message: a2aError.message, details: toErrorDetails(a2aError) }
  const headers = { ...jsonHeaders, ...errorHeaders(a2aError), ...extraHeaders }
  return { status: http, headers, body: JSON.stringify({ error: status }) }
}

export type LargeAnswers = ReturnType<typeof createLargeAnswers>

interface AnswerBounds {
  /** The length in characters below which answers are not counted. */
  readonly largeFromChars: number
  /** The most bytes of pending answers to one caller. */
  readonly maxBytesPerCaller: number
  /** The most bytes of pending answers in total. */
  readonly maxTotalBytes: number
}

const mib = 1024 * 1024
const defaultBounds: AnswerBounds = {
  largeFromChars: 512 * 1024,
  maxBytesPerCaller: 64 * mib,
  maxTotalBytes: 128 * mib,
}
const chunkBytes = 256 * 1024
const noHeaders: Headers = {}
const refusal = 'Cannot answer: earlier answers have not been read yet'

/**
 * Creates the limit of large answers. Their bytes count until the client has read them, which the client may delay. There is one budget for
 * each caller and one for all. The first answer is always allowed, regardless of its size, because otherwise the caller could never get it.
 */
export function createLargeAnswers({ largeFromChars, maxBytesPerCaller, maxTotalBytes }: AnswerBounds = defaultBounds) {
  const budget = createByteBudget({ maxBytes: maxTotalBytes, maxBytesPerOwner: maxBytesPerCaller, refusal })

  /**
   * Counts bytes as pending, and returns the function that releases them, which may be called twice.
   * @throws Rejection `rate_limited` if the budget is used up
   */
  function reserve(bytes: number, owner: string): () => void {
    if (bytes < largeFromChars) return () => {}
    const reservation = budget.reserve(owner)
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
    largeFromChars,
    reserve,
    /** Returns the body of an answer. A small answer is not streamed. @throws Rejection `rate_limited` if the budget is used up */
    open(text: string, owner: string): { readonly body: string | StreamedBody; readonly headers: Headers } {
      if (text.length < largeFromChars) return { body: text, headers: noHeaders }
      const bytes = Buffer.from(text)
      const body = writeInChunks(bytes, reserve(bytes.length, owner))
      return { body, headers: { 'content-length': String(bytes.length) } }
    },
  }
}

/** Writes the bytes in chunks. It calls `finish` when the client has read all bytes or leaves. */
function writeInChunks(bytes: Uint8Array, finish: () => void): StreamedBody {
  return receiver => {
    let position = 0
    function writeNext(): void {
      while (receiver.isReady && position < bytes.length) {
        receiver.write(bytes.subarray(position, position + chunkBytes))
        position += chunkBytes
      }
      if (position >= bytes.length) receiver.end()
    }
    writeNext()
    return { onReady: writeNext, onClose: finish }
  }
}
