// Opens a gateway that sends its traces to a collector on a loopback socket.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import type { Collector, ReceivedSpan } from './collector.ts'
import { openCollector } from './collector.ts'

interface Hook {
  readonly url: string
  readonly headers: readonly IncomingHttpHeaders[]
}

/** Opens a webhook agent that answers "heard". */
async function openHook(): Promise<Hook> {
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    headers.push(request.headers)
    request.resume().on('end', () => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ parts: [{ kind: 'text', mime: 'text/plain', content: 'heard' }] }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, headers }
}

export interface TracedGateway {
  readonly gateway: TestGateway
  readonly collector: Collector
  readonly hook: Hook
}

export async function openTracedGateway(
  telemetry: object = {},
  settings: object = {},
  agents: object = {},
): Promise<TracedGateway> {
  const [collector, hook] = [await openCollector(), await openHook()]
  const gateway = await openTestGateway(() => ({
    agents: {
      hook: { use: 'webhook', url: hook.url, secret: 'a secret of the hook' },
      relay: { use: '../agents/calling/relay.ts' },
      echo: { use: 'builtin:echo' },
      ...agents,
    },
    ...settings,
    telemetry: { endpoint: collector.endpoint, headers: { authorization: 'Basic of-the-collector' }, ...telemetry },
  }))
  let isClosed = false
  const close = async () => {
    if (!isClosed) await gateway.close()
    isClosed = true
    await collector.close()
  }
  onTestFinished(close)
  return { gateway, collector, hook }
}

interface Call {
  readonly to: string
  readonly text?: string
  /** True if the caller has a token. Default: true. */
  readonly isProven?: boolean
  readonly traceparent?: string
}

export async function callTracedGateway(
  { gateway }: TracedGateway,
  { to, text = 'xyzzy', isProven = true, traceparent }: Call,
): Promise<number> {
  const response = await fetch(`${gateway.url()}/agents/${to}/a2a`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(isProven && { authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'bob' })}` }),
      ...(traceparent !== undefined && { traceparent }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] } },
    }),
  })
  await response.text()
  return response.status
}

/** Ends the gateway, which then sends its remaining spans. Returns all spans. */
export async function closeAndReadSpans({ gateway, collector }: TracedGateway): Promise<readonly ReceivedSpan[]> {
  await gateway.gateway().stop()
  return collector.spans()
}

export const findSpans = (spans: readonly ReceivedSpan[], name: string) => spans.filter(span => span.name === name)
