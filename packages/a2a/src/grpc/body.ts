// Counts the bytes of gRPC messages as they arrive, and ends a call whose message arrives too slowly.
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { sizeInMemory } from '@postern/http'
import type { ByteReservation, System } from '@postern/message'
import { Rejection } from '@postern/message'

interface BodyDeps {
  /** The reservation of the bytes until the call has ended, because grpc-js stores the message until then. */
  readonly byteReservation: ByteReservation | undefined
  /** Ends the call. */
  refuse(error: unknown): void
}

export interface GrpcBody {
  /** Counts a decoded message, because a compressed message grows. Returns true if the message may be passed on. */
  acceptMessage(bytes: number): boolean
  /** Records that the whole message has arrived. */
  end(): void
  /** Ends the call if the body arrives too slowly. */
  watchPace(sleep: System['sleep']): void
}

/** The longest time for a message to arrive, ms, because its beginning is in memory. */
const messageMs = 60_000
/** The fewest bytes that must arrive in each interval, ms: 1 KB a second, as for mail. */
const [paceIntervalMs, minBytes] = [10_000, 10 * 1000]

/** Counts and limits the bytes of a call, before its message is read. */
export function openBody(call: object, { byteReservation: hold, refuse }: BodyDeps): GrpcBody {
  const stream = findStream(call)
  const completion = new AbortController()
  let receivedBytes = 0
  let reservedBytes = 0

  function reserve(bytes: number): boolean {
    try {
      hold?.add(bytes)
      reservedBytes += bytes
      return true
    } catch (error) {
      endCall(error)
      return false
    }
  }

  function endCall(error: unknown): void {
    refuse(error)
    // A client that does not end its call would leave its message in memory.
    stream.close(constants.NGHTTP2_NO_ERROR)
  }

  if (!stream.closed) {
    stream.on('data', (chunk: Uint8Array) => {
      receivedBytes += chunk.length
      reserve(sizeInMemory(chunk))
    })
    stream.once('close', () => {
      completion.abort()
      hold?.release()
    })
  }

  return {
    acceptMessage: bytes => bytes <= reservedBytes || reserve(bytes - reservedBytes),
    end: () => completion.abort(),
    watchPace(sleep) {
      const timeoutRejection = new Rejection('rate_limited', 'Cannot take request: it did not come in time')
      const slowRejection = new Rejection('rate_limited', 'Cannot take request: slower than 1 KB a second')
      const { signal } = completion
      void sleep(messageMs, signal).then(() => signal.aborted || endCall(timeoutRejection))
      void stopWhenSlow({ sleep, signal, countBytes: () => receivedBytes, stop: () => endCall(slowRejection) })
    },
  }
}

interface PaceCheck {
  readonly sleep: System['sleep']
  readonly signal: AbortSignal
  countBytes(): number
  stop(): void
}

async function stopWhenSlow({ sleep, signal, countBytes, stop }: PaceCheck): Promise<void> {
  while (!signal.aborted) {
    const bytesBefore = countBytes()
    await sleep(paceIntervalMs, signal)
    if (!signal.aborted && countBytes() - bytesBefore < minBytes) return stop()
  }
}

/** Finds the stream of a call. grpc-js passes on only complete messages, so the bytes of an incomplete message are visible only at the stream. */
function findStream(call: object): ServerHttp2Stream {
  const { stream } = call as { readonly stream?: ServerHttp2Stream }
  if (!stream) throw new Error('grpc-js does not show the stream of a call')
  return stream
}
