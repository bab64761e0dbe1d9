// Receives traces over OTLP/HTTP.
import { once } from 'node:events'
import type { IncomingHttpHeaders, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span in OTLP/JSON (opentelemetry-proto, trace/v1). */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: ReceivedSpan['attributes'] }
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

export interface Collector {
  /** The value for `telemetry.endpoint`. */
  readonly endpoint: string
  /** All bodies, in the order of their arrival. */
  readonly bodies: readonly string[]
  readonly headers: readonly IncomingHttpHeaders[]
  spans(): readonly ReceivedSpan[]
  /** Returns the name of each resource that sent spans. */
  services(): readonly unknown[]
  close(): Promise<void>
}

/** Opens an OTLP/HTTP receiver on a loopback socket. If `answers` is false, it accepts requests and never answers. Default: true. */
export async function openCollector({ answers = true }: { readonly answers?: boolean } = {}): Promise<Collector> {
  const [bodies, headers]: [string[], IncomingHttpHeaders[]] = [[], []]
  const server: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const chunk of request) pieces.push(chunk as Buffer)
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end()
      return
    }
    bodies.push(Buffer.concat(pieces).toString())
    headers.push(request.headers)
    if (answers) response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const requests = () => bodies.map(body => JSON.parse(body) as ExportRequest)
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    bodies,
    headers,
    spans: () =>
      requests().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    services: () =>
      requests().flatMap(({ resourceSpans }) =>
        resourceSpans.map(({ resource }) => readAttribute(resource, 'service.name')),
      ),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function readAttribute({ attributes }: Pick<ReceivedSpan, 'attributes'>, name: string): unknown {
  return Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]
}
