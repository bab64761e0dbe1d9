// Reads and serves the built site of the docs.
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const siteFolder = fileURLToPath(new URL('../../../../../docs/.vitepress/dist', import.meta.url))
const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}

/** Returns the paths of the built pages from the root of the site, such as `guides/tools.html`. */
export function listBuiltPages(): readonly string[] {
  return globSync('**/*.html', { cwd: siteFolder })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => path !== '404.html')
    .sort()
}

export function readBuiltFile(path: string): string {
  return readFileSync(join(siteFolder, path), 'utf8')
}

export function listBuiltFiles(): ReadonlySet<string> {
  return new Set(globSync('**/*.*', { cwd: siteFolder }).map(path => path.replaceAll('\\', '/')))
}

/** Serves the site without special settings, because readers may host it on any static server. */
export async function serveBuiltSite(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    try {
      const bytes = readFileSync(join(siteFolder, path))
      response.setHeader('content-type', contentTypes[extname(path)] ?? 'text/plain; charset=utf-8').end(bytes)
    } catch {
      response.writeHead(404).end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}
