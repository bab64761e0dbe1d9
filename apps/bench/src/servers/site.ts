import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SiteDocument {
  readonly type: string
  readonly text: string
}

/** Several https hosts as plain HTTP on one loopback port, told apart by `Host`. They take whatever is posted to them. */
export interface Site {
  readonly port: number
  close(): void
}

/** @param documents by host and request target, such as `issuer.test/jwks` */
export async function openSite(documents: ReadonlyMap<string, SiteDocument>): Promise<Site> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      request.resume()
      response.writeHead(202).end()
      return
    }
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    const found = documents.get(`${host}${request.url}`)
    response.writeHead(found ? 200 : 404, { 'content-type': found?.type ?? 'text/plain' })
    response.end(found?.text ?? 'not found')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
