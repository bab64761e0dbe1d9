import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

export interface ServedPages {
  readonly origin: string
  close(): void
}

/** A site of somebody else's, on a host of its own: `localhost` is another one than 127.0.0.1. */
export async function serveForeignSite(answer: RequestListener): Promise<ServedPages> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

/** The files of a folder; `change` has the last word on the pages among them. */
export function servePages(folder: string, change: (page: string) => string = page => page): Promise<ServedPages> {
  return serveForeignSite((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = join(folder, normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
    const type = types[extname(path)] ?? 'application/octet-stream'
    try {
      const bytes = readFileSync(path)
      response.setHeader('content-type', type).end(type === 'text/html' ? change(bytes.toString()) : bytes)
    } catch {
      response.writeHead(404).end()
    }
  })
}
