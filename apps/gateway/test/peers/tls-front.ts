// Ends TLS in front of all servers of the private network, and records the requests.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { CapturedRequest } from './captured.ts'
import type { PrivateNetwork } from './private-network.ts'

interface TlsFront {
  /** Every request that arrived, with its answer. */
  readonly capturedRequests: readonly CapturedRequest[]
  close(): void
}

/** Opens the server in front of all others: it ends TLS, and passes each request to the host that the request names. */
export async function openTlsFront(
  { certPath, keyPath }: PrivateNetwork,
  backends: Readonly<Record<string, number>>,
): Promise<TlsFront> {
  const requests: CapturedRequest[] = []
  const server = createServer({ cert: readFileSync(certPath), key: readFileSync(keyPath) }, (incoming, outgoing) => {
    passOn(incoming, outgoing, backends).then(
      captured => requests.push(captured),
      () => outgoing.destroy(),
    )
  })
  server.listen(443)
  await once(server, 'listening')
  return {
    capturedRequests: requests,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function passOn(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  backends: Readonly<Record<string, number>>,
): Promise<CapturedRequest> {
  const receivedAt = new Date().toISOString()
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const body = await buffer(incoming)
  const host = String(incoming.headers.host)
  const inner = request({
    port: backends[host],
    host: '127.0.0.1',
    method,
    path: url,
    headers: rawHeaders,
    agent: false,
  })
  inner.end(body)
  const [answer] = (await once(inner, 'response')) as [IncomingMessage]
  const { statusCode: status = 502, rawHeaders: answerHeaders } = answer
  outgoing.writeHead(status, dropHopByHop(answerHeaders))
  const chunks: Buffer[] = []
  for await (const chunk of answer) {
    chunks.push(chunk)
    outgoing.write(chunk)
  }
  outgoing.end()
  const type = String(answer.headers['content-type'] ?? '')
  const storedResponse = { status, type, body: Buffer.concat(chunks).toString() }
  return {
    receivedAt,
    host,
    method,
    target: url,
    headers: pairUp(rawHeaders),
    body: body.toString(),
    answer: storedResponse,
  }
}

function pairUp(raw: readonly string[]): readonly (readonly [string, string])[] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
}

/** Removes the header fields of a single connection, because the next connection has its own. */
function dropHopByHop(raw: readonly string[]): string[] {
  const dropped = new Set(['connection', 'keep-alive', 'transfer-encoding'])
  return pairUp(raw).flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]))
}
