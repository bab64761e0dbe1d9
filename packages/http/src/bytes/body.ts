import type { ByteHold } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import { joinBytes } from './join-bytes.ts'

const holds = new WeakMap<Request, ByteHold>()

/** From now on `readBody` counts what it reads of this request in `hold`, which the caller releases once it is answered. */
export function countBodyIn(request: Request, hold: ByteHold): void {
  holds.set(request, hold)
}

/** A body that declares no more than this is read in one go; a larger one is counted as it comes. */
const smallBytes = 64 * 1024

/**
 * The bytes of a request, at most `maxBytes` of them. The declared length is looked at before anything is read.
 * @throws Rejection `too_large`, `unsupported` (a content coding other than identity), `malformed` (cut short),
 * `rate_limited`, and Unavailable, where the budget of the request's hold has no room
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  checkDeclaredBody(request.headers, maxBytes)
  const declared = request.headers.get('content-length')
  const isSmall = declared !== null && Number(declared) <= smallBytes
  const hold = holds.get(request)
  try {
    if (isSmall) hold?.add(Number(declared))
    return await (isSmall ? takeBody(request, maxBytes) : countBody(request, maxBytes, hold))
  } catch (cause) {
    if (cause instanceof Rejection || cause instanceof Unavailable) throw cause
    throw new Rejection('malformed', 'Cannot read body: connection was cut', { cause })
  }
}

/**
 * What the head of a request says of its body, as `readBody` looks at it: for endpoints with further checks before the body.
 * @throws Rejection `too_large`, `unsupported`, `malformed`
 */
export function checkDeclaredBody(headers: Headers, maxBytes: number): void {
  const coding = headers.get('content-encoding')
  if (coding && coding.toLowerCase() !== 'identity') {
    throw new Rejection('unsupported', 'Cannot read body: content coding is not supported')
  }
  const declared = headers.get('content-length')
  if (declared === null) return
  if (!/^\d+$/.test(declared)) throw new Rejection('malformed', 'Cannot read body: Content-Length is not a number')
  if (Number(declared) > maxBytes) throw tooLarge(maxBytes)
}

/** HTTP/1.1 framing holds the peer to the length it declared, and the server has a short way to a whole body. */
async function takeBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > maxBytes) throw tooLarge(maxBytes)
  return bytes
}

async function countBody({ body }: Request, maxBytes: number, hold: ByteHold | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    hold?.add(chunk.length)
    chunks.push(chunk)
  }
  return joinBytes(chunks, size)
}

function tooLarge(maxBytes: number): Rejection {
  return new Rejection('too_large', `Cannot read body: larger than ${maxBytes} bytes`)
}
