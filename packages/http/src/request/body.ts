// Reads the body of a request within a limit on its bytes.

import type { ByteReservation } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import { joinBytes } from './join-bytes.ts'
import type { HeaderFields, IncomingRequest } from './socket-request.ts'
import { SocketRequest } from './socket-request.ts'

const holds = new WeakMap<Request, ByteReservation>()

/** Makes `readBody` count the bytes of this request in `hold`. The caller releases it after the answer. */
export function countBodyIn(request: Request, hold: ByteReservation): void {
  holds.set(request, hold)
}

/** The longest declared length of a body that is read at once. A longer body is counted as it arrives. */
const smallBytes = 64 * 1024

/**
 * Reads the bytes of a request, at most `maxBytes`. The declared length is checked before anything is read.
 * @throws Rejection `too_large`, `unsupported` (a content coding other than identity), `malformed` (cut short), `rate_limited`
 * @throws Unavailable when the byte budget of the request is used up
 */
export async function readBody(request: IncomingRequest, maxBytes: number): Promise<Uint8Array> {
  checkDeclaredBody(request.headers, maxBytes)
  const declaredLength = request.headers.get('content-length')
  const isSmall = declaredLength !== null && Number(declaredLength) <= smallBytes
  const isDirect = request instanceof SocketRequest
  const hold = isDirect ? request.hold : holds.get(request)
  try {
    if (isSmall) hold?.add(Number(declaredLength))
    if (isDirect) return await readFromSocket(request, { maxBytes, hold: isSmall ? undefined : hold })
    if (!isSmall) return await countBody(request, maxBytes, hold)
    // One read is fast. HTTP/1.1 framing enforces the declared length.
    const bytes = new Uint8Array(await request.arrayBuffer())
    if (bytes.length > maxBytes) throw refuseSize(maxBytes)
    return bytes
  } catch (cause) {
    if (cause instanceof Rejection || cause instanceof Unavailable) throw cause
    throw new Rejection('malformed', 'Cannot read body: connection was cut', { cause })
  }
}

/**
 * Checks the declared size and coding of a body before it is read, for endpoints with other checks in between.
 * @throws Rejection `too_large`, `unsupported`, `malformed`
 */
export function checkDeclaredBody(headers: HeaderFields, maxBytes: number): void {
  const coding = headers.get('content-encoding')
  if (coding && coding.toLowerCase() !== 'identity') {
    throw new Rejection('unsupported', 'Cannot read body: content coding is not supported')
  }
  const declaredLength = headers.get('content-length')
  if (declaredLength === null) return
  if (!/^\d+$/.test(declaredLength))
    throw new Rejection('malformed', 'Cannot read body: Content-Length is not a number')
  if (Number(declaredLength) > maxBytes) throw refuseSize(maxBytes)
}

async function countBody({ body }: Request, maxBytes: number, hold: ByteReservation | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw refuseSize(maxBytes)
    hold?.add(sizeInMemory(chunk))
    chunks.push(chunk)
  }
  return joinBytes(chunks, size)
}

interface SocketReadOptions {
  readonly maxBytes: number
  readonly hold: ByteReservation | undefined
}

/** Reads a body from its socket. After a failure the rest of the body stays unread. */
function readFromSocket({ incoming }: SocketRequest, { maxBytes, hold }: SocketReadOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    let hasEnded = false
    function fail(error: unknown): void {
      hasEnded = true
      incoming.off('data', addChunk).pause()
      reject(error)
    }
    function addChunk(chunk: Uint8Array): void {
      try {
        size += chunk.length
        if (size > maxBytes) throw refuseSize(maxBytes)
        hold?.add(sizeInMemory(chunk))
        chunks.push(chunk)
      } catch (error) {
        fail(error)
      }
    }
    /** A client that has sent its whole body may leave before anything is read. */
    function finish(): void {
      if (hasEnded) return
      if (!incoming.complete) {
        fail(incoming.errored)
        return
      }
      incoming.off('data', addChunk)
      // Each call returns one of the chunks that have arrived.
      for (let rest: Buffer | null = incoming.read(); rest; rest = incoming.read()) addChunk(rest)
      hasEnded = true
      resolve(joinBytes(chunks, size))
    }
    incoming.on('data', addChunk).on('end', finish).on('error', finish).on('close', finish)
    if (incoming.destroyed) finish()
  })
}

/** The least memory that an array uses, in bytes, regardless of its length. */
const minBytesInMemory = 128

/** Returns the memory that a chunk of a body uses, because many tiny chunks use far more memory than they have bytes. */
export function sizeInMemory(chunk: Uint8Array): number {
  return Math.max(chunk.length, minBytesInMemory)
}

function refuseSize(maxBytes: number): Rejection {
  return new Rejection('too_large', `Cannot read body: larger than ${maxBytes} bytes`)
}
