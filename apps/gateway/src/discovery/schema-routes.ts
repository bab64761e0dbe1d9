// Serves the JSON Schemas of the configuration file, of messages and of responses.
import { Hono } from 'hono'

/** The loaders of the schemas. A schema is loaded at the first request for it. */
const schemaLoaders: Readonly<Record<string, () => Promise<{ readonly default: object }>>> = {
  'config.json': () => import('../../schemas/config.json', { with: { type: 'json' } }),
  'message.json': () => import('../../schemas/message.json', { with: { type: 'json' } }),
  'response.json': () => import('../../schemas/response.json', { with: { type: 'json' } }),
}

export function createSchemaRoutes(): Hono {
  return new Hono().get('/schemas/:name', async context => {
    const name = context.req.param('name')
    const loadSchema = Object.hasOwn(schemaLoaders, name) ? schemaLoaders[name] : undefined
    if (!loadSchema) return context.notFound()
    return context.body(JSON.stringify((await loadSchema()).default), 200, {
      'content-type': 'application/schema+json',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=3600',
    })
  })
}
