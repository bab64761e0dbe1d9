// Serves the files of the console and of the embeddable chat.
import { hash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context, Next } from 'hono'
import { Hono } from 'hono'

/** The possible folders of the console: in the repository, and in the npm package, which has all code in one folder. */
const folderCandidates = ['../../../../packages/console/public/', '../console/']

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * The policy of the console. All resources come from this gateway, and no text of a peer runs as a script: no inline script, no `eval`, no foreign
 * address. Mail is shown in a
 * frame without scripts, from a `srcdoc`, which inherits this policy.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types mail-preview',
].join('; ')

export function createConsoleFiles(): Hono {
  const folder = findFolder()
  const fileNames = new Set(folder === undefined ? [] : listFiles(folder))
  const serveFile = async (context: Context, name: string, next: Next) => {
    // Only listed files are opened, so a name never becomes a path.
    if (folder === undefined || !fileNames.has(name)) return next()
    const bytes = await readFile(join(folder, name))
    const etag = `"${hash('sha256', bytes).slice(0, 32)}"`
    const headers = { etag, 'cache-control': 'no-cache', ...securityHeaders, ...crossOriginHeaders(name) }
    if (context.req.header('if-none-match') === etag) return context.body(null, 304, headers)
    return context.body(bytes, 200, {
      ...headers,
      'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream',
    })
  }
  return (
    new Hono()
      // These paths are outside of /operator, because a proxy may restrict /operator to a private network.
      .get('/postern-chat.js', (context, next) => serveFile(context, 'postern-chat.js', next))
      .get('/postern-chat/:name{.+}', (context, next) =>
        serveFile(context, `postern-chat/${context.req.param('name')}`, next),
      )
      .get('/operator', context => context.redirect('/operator/', 308))
      .get('/operator/:name{.*}', (context, next) =>
        serveFile(context, context.req.param('name') || 'index.html', next),
      )
  )
}

/** Matches the embeddable chat and the files that it loads, which pages of other origins use. */
const chatFilePattern = /^postern-chat[./]/

const securityHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/** Allows other origins to load the chat, and only this origin to load everything else. */
function crossOriginHeaders(name: string): Readonly<Record<string, string>> {
  if (!chatFilePattern.test(name)) return { 'cross-origin-resource-policy': 'same-origin' }
  return { 'cross-origin-resource-policy': 'cross-origin', 'access-control-allow-origin': '*' }
}

function findFolder(): string | undefined {
  return folderCandidates
    .map(path => fileURLToPath(new URL(path, import.meta.url)))
    .find(path => existsSync(join(path, 'index.html')))
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && extname(entry.name) in mediaTypes)
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/'))
}
