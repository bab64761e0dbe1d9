import type { GatewayStore } from '@postern/store'
import { Hono } from 'hono'

/** The files of the store themselves. */
export function createFileRoutes(store: Pick<GatewayStore, 'rewriteFiles'>): Hono {
  return new Hono().post('/vacuum', async context => {
    await store.rewriteFiles()
    return context.json({ rewritten: true })
  })
}
