// Serves the pages of foreign sites to a browser.
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

export interface ServedPages {
  readonly origin: string
  close(): void
}

/** Serves a foreign site on a host of its own: browsers treat `localhost` and 127.0.0.1 as different hosts. */
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

/** Serves the files of a folder; `change` edits each page before it is sent. */
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
