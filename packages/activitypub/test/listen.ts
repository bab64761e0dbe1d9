// Serves an app on a real socket.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { Hono } from 'hono'

export interface Listener {
  readonly port: number
  close(): Promise<void>
}

/** Opens a real socket for an app, with the bindings that the Node server provides. */
export async function listenApp(app: Hono): Promise<Listener> {
  const server = createServer((incoming, outgoing) => {
    answerWith(app, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answerWith(app: Hono, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
  }
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers,
    ...(hasBody && { body: Readable.toWeb(incoming) as unknown as ReadableStream, duplex: 'half' }),
  } as RequestInit)
  const response = await app.fetch(request, { incoming, outgoing })
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}
