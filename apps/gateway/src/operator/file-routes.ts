import type { StoreDesk } from '@postern/store'
import { Hono } from 'hono'

/** The files of the desk themselves. */
export function createFileRoutes(desk: Pick<StoreDesk, 'rewriteFiles'>): Hono {
  return new Hono().post('/vacuum', async context => {
    await desk.rewriteFiles()
    return context.json({ rewritten: true })
  })
}
