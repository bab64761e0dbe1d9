import { createServer } from 'node:http'
import { listenOnFreePort } from './loopback.ts'

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
  return {
    port: await listenOnFreePort(server),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
