// Serves fixed documents of several hosts on one loopback port.
import { createServer } from 'node:http'
import { listenOnFreePort } from './loopback.ts'

export interface StaticDocument {
  readonly type: string
  readonly text: string
}

/** Several https hosts as plain HTTP on one loopback port, distinguished by `Host`. They accept every POST. */
export interface StaticHosts {
  readonly port: number
  close(): void
}

/** Opens the hosts. @param documents by host and request target, such as `issuer.test/jwks` */
export async function serveStaticHosts(documents: ReadonlyMap<string, StaticDocument>): Promise<StaticHosts> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      request.resume()
      response.writeHead(202).end()
      return
    }
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    const document = documents.get(`${host}${request.url}`)
    response.writeHead(document ? 200 : 404, { 'content-type': document?.type ?? 'text/plain' })
    response.end(document?.text ?? 'not found')
  })
  return {
    port: await listenOnFreePort(server),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
