import { Rejection } from '@postern/core'
import { joinBytes } from './join-bytes.ts'

/** Told, of a body without declared length, how much of it is there; may throw. */
export type OnSize = (size: number) => void

/**
 * The bytes of a request, at most `maxBytes` of them: the declared length is looked at before anything is read, and
 * what comes without one is counted as it comes.
 * @throws Rejection `too_large`, `unsupported` (a content coding other than identity), `malformed` (cut short)
 */
export async function readBody(request: Request, maxBytes: number, onSize?: OnSize): Promise<Uint8Array> {
  const coding = request.headers.get('content-encoding')
  if (coding && coding.toLowerCase() !== 'identity') {
    throw new Rejection('unsupported', 'Cannot read body: content coding is not supported')
  }
  const declared = request.headers.get('content-length')
  if (declared !== null) checkLength(declared, maxBytes)
  try {
    return await (declared === null ? countBody(request, { maxBytes, onSize }) : takeBody(request, maxBytes))
  } catch (cause) {
    if (cause instanceof Rejection) throw cause
    throw new Rejection('malformed', 'Cannot read body: connection was cut', { cause })
  }
}

function checkLength(declared: string, maxBytes: number): void {
  if (!/^\d+$/.test(declared)) throw new Rejection('malformed', 'Cannot read body: Content-Length is not a number')
  if (Number(declared) > maxBytes) throw tooLarge(maxBytes)
}

/** HTTP/1.1 framing holds the peer to the length it declared, and the server has a short way to a whole body. */
async function takeBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > maxBytes) throw tooLarge(maxBytes)
  return bytes
}

interface Counting {
  readonly maxBytes: number
  readonly onSize: OnSize | undefined
}

async function countBody({ body }: Request, { maxBytes, onSize }: Counting): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    onSize?.(size)
    chunks.push(chunk)
  }
  return joinBytes(chunks, size)
}

function tooLarge(maxBytes: number): Rejection {
  return new Rejection('too_large', `Cannot read body: larger than ${maxBytes} bytes`)
}
