// Ends requests whose bodies come too slowly, with status 408.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export interface MinPace {
  /** The time between two checks, ms. */
  readonly checkIntervalMs: number
  /** The least number of bytes that must arrive between two checks, unless the body ends. */
  readonly minBytesPerCheck: number
}

/** The default pace, 3 KiB per second. Even a phone on the slowest network sends faster. */
const defaultPace: MinPace = { checkIntervalMs: 4_000, minBytesPerCheck: 12 * 1024 }

interface BodyProgress {
  readonly response: ServerResponse
  /** The bytes that the connection had received at the last check; absent before the first. */
  bytesAtLastCheck?: number | undefined
}

/** Answers 408 and closes the connection when a body arrives too slowly. A body that waits for the gateway to read it is not slow. */
export function cutSlowBodies(server: Server, { checkIntervalMs, minBytesPerCheck }: MinPace = defaultPace): void {
  const openBodies = new Map<IncomingMessage, BodyProgress>()

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    openBodies.set(request, { response })
    const removeBody = () => void openBodies.delete(request)
    request.once('end', removeBody).once('close', removeBody)
    response.once('close', removeBody)
  })

  function checkBodies(): void {
    for (const [request, progress] of openBodies) {
      const bytesRead = request.socket.bytesRead
      const expectsNoBytes = request.readableLength > 0 || request.complete
      const isSlow = progress.bytesAtLastCheck !== undefined && bytesRead - progress.bytesAtLastCheck < minBytesPerCheck
      if (!expectsNoBytes && isSlow) endRequest(request, progress.response)
      // Nothing arrives while the gateway does not read, so the next check begins a new measurement.
      progress.bytesAtLastCheck = expectsNoBytes ? undefined : bytesRead
    }
  }

  const timer = setInterval(checkBodies, checkIntervalMs).unref()
  server.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function endRequest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  if (!response.headersSent)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  socket.destroySoon()
}
