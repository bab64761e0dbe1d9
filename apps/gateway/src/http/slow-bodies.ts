// Ends requests whose bodies come too slowly, with status 408.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export interface PaceOptions {
  /** The time between two checks, ms. */
  readonly everyMs: number
  /** The least number of bytes that must arrive between two checks, unless the body ends. */
  readonly minBytes: number
}

/** The default pace, 3 KiB per second. A phone on its slowest network sends faster. */
const usualPace: PaceOptions = { everyMs: 4_000, minBytes: 12 * 1024 }

interface Pace {
  readonly response: ServerResponse
  /** The bytes that the connection had received at the last check; absent before the first. */
  seen?: number | undefined
}

/** Answers 408 and closes the connection when a body arrives too slowly. A body that waits for the gateway to read it is not slow. */
export function cutSlowBodies(server: Server, { everyMs, minBytes }: PaceOptions = usualPace): void {
  const coming = new Map<IncomingMessage, Pace>()

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    coming.set(request, { response })
    const forget = () => void coming.delete(request)
    request.once('end', forget).once('close', forget)
    response.once('close', forget)
  })

  function check(): void {
    for (const [request, pace] of coming) {
      const total = request.socket.bytesRead
      const isUnread = request.readableLength > 0 || request.complete
      const isSlow = pace.seen !== undefined && total - pace.seen < minBytes
      if (!isUnread && isSlow) cut(request, pace.response)
      // Nothing arrives while the gateway does not read, so the next check begins a new measurement.
      pace.seen = isUnread ? undefined : total
    }
  }

  const timer = setInterval(check, everyMs).unref()
  server.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function cut(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  if (!response.headersSent)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  socket.destroySoon()
}
