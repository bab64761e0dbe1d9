// Runs a webhook server on loopback, and records its requests.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedWebhook {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface WebhookReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The body. A value other than text or bytes is sent as JSON. */
  readonly body?: unknown
}

export type Respond = (received: ReceivedWebhook) => WebhookReply | undefined | Promise<WebhookReply | undefined>

interface WebhookServer {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  close(): Promise<void>
}

/** Opens a receiver of webhooks on loopback. An answer of `undefined` breaks off the connection. */
export async function openWebhookServer(respond: Respond): Promise<WebhookServer> {
  const received: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    const webhook = { headers: request.headers, body: await readText(request) }
    received.push(webhook)
    const reply = await respond(webhook)
    if (reply) writeReply(response, reply)
    else request.socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, received, close: () => closeServer(server) }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks).toString('utf8')
}

function writeReply(response: ServerResponse, { status = 200, headers = {}, body }: WebhookReply): void {
  response.writeHead(status, headers)
  const isReady = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  response.end(isReady ? body : JSON.stringify(body))
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve, reject) => server.close(error => (error ? reject(error) : resolve())))
}
