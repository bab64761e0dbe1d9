// Counts the bytes of gRPC messages as they arrive, and ends a call whose message arrives too slowly.
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { sizeInMemory } from '@postern/http'
import type { ByteHold, System } from '@postern/message'
import { Rejection } from '@postern/message'

interface BodyDeps {
  /** The count of the bytes, which lasts until the call has ended, because grpc-js stores the message for as long. */
  readonly hold: ByteHold | undefined
  /** Ends the call. */
  refuse(error: unknown): void
}

export interface ArrivingBody {
  /** Counts a decoded message, because a compressed one has grown. Returns true if it may be passed on. */
  acceptMessage(bytes: number): boolean
  /** Records that the whole message has arrived. */
  end(): void
  /** Ends the call if the body arrives more slowly than that of any honest client. */
  watchPace(sleep: System['sleep']): void
}

/** The longest time for a message to arrive, ms, because its beginning is in memory. */
const messageMs = 60_000
/** The fewest bytes that must arrive in each interval, ms: 1 KB a second, as for mail. */
const [paceIntervalMs, minBytes] = [10_000, 10 * 1000]

/** Watches the body of a call that has not been read yet. */
export function openBody(call: object, { hold, refuse }: BodyDeps): ArrivingBody {
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
      end(error)
      return false
    }
  }

  function end(error: unknown): void {
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
      void sleep(messageMs, signal).then(() => signal.aborted || end(timeoutRejection))
      void stopWhenSlow({ sleep, signal, countBytes: () => receivedBytes, stop: () => end(slowRejection) })
    },
  }
}

interface Pace {
  readonly sleep: System['sleep']
  readonly signal: AbortSignal
  countBytes(): number
  stop(): void
}

async function stopWhenSlow({ sleep, signal, countBytes, stop }: Pace): Promise<void> {
  while (!signal.aborted) {
    const bytesBefore = countBytes()
    await sleep(paceIntervalMs, signal)
    if (!signal.aborted && countBytes() - bytesBefore < minBytes) return stop()
  }
}

/** Finds the stream of a call. grpc-js passes on whole messages only, so the bytes of one that is still arriving are visible only at its stream. */
function findStream(call: object): ServerHttp2Stream {
  const { stream } = call as { readonly stream?: ServerHttp2Stream }
  if (!stream) throw new Error('grpc-js does not show the stream of a call')
  return stream
}
