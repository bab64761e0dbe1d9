import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export interface PaceOptions {
  /** ms. */
  readonly everyMs: number
  /** What has to come of a body in that time, unless its end does. */
  readonly minBytes: number
}

/** 3 KiB a second: a phone on its slowest network sends faster. */
const usualPace: PaceOptions = { everyMs: 4_000, minBytes: 12 * 1024 }

interface Pace {
  readonly response: ServerResponse
  /** Bytes of its connection at the last look; none before the first. */
  seen?: number | undefined
}

/** Cuts requests whose body comes more slowly than that, with 408. Bodies that wait for us are not slow. */
export function cutSlowBodies(server: Server, { everyMs, minBytes }: PaceOptions = usualPace): void {
  const coming = new Map<IncomingMessage, Pace>()

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    coming.set(request, { response })
    const forget = () => void coming.delete(request)
    request.once('end', forget).once('close', forget)
    response.once('close', forget)
  })

  function look(): void {
    for (const [request, pace] of coming) {
      const total = request.socket.bytesRead
      const isWaitingForUs = request.readableLength > 0 || request.complete
      const isSlow = pace.seen !== undefined && total - pace.seen < minBytes
      if (!isWaitingForUs && isSlow) cut(request, pace.response)
      // While it waits nothing comes: its time begins anew once we read on.
      pace.seen = isWaitingForUs ? undefined : total
    }
  }

  const timer = setInterval(look, everyMs).unref()
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
