import { readFileSync } from 'node:fs'
import { Hono } from 'hono'

const files = { 'room.js': 'text/javascript; charset=UTF-8', 'chat.css': 'text/css; charset=UTF-8' } as const

/** The script and the style of the pages, read once. */
export function createStaticRoutes(): Hono {
  const routes = new Hono()
  for (const [name, type] of Object.entries(files)) {
    const text = readFileSync(new URL(`./static/${name}`, import.meta.url), 'utf8')
    const headers = {
      'content-type': type,
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
    }
    routes.get(`/static/${name}`, context => context.body(text, 200, headers))
  }
  return routes
}
