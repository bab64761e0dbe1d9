import type { Channel, House } from '@postern/core'
import { createSender } from '@postern/core'
import type { Hono } from 'hono'
import { createChallenger } from './auth/challenge.ts'
import { guardOperations, readScopeTable } from './auth/scopes.ts'
import { createAuthenticate } from './authenticate.ts'
import { createTaskWaiter } from './await-task.ts'
import type { A2aConfig } from './config.ts'
import { createCursors } from './cursor.ts'
import { deliverTask } from './deliver.ts'
import { createOperations } from './operations/create-operations.ts'
import { addressAnswer, describeTask, renderDelivery } from './render.ts'
import { createRoutes } from './routes.ts'

export type { A2aConfig } from './config.ts'
export { a2aConfigSchema } from './config.ts'

/** A2A 1.0 over JSON-RPC and HTTP+JSON: agents call ours, and get their answer in the call. */
export function openA2a(config: A2aConfig, house: House): Channel<Hono> {
  const { desk, world, agents } = house
  const challenger = createChallenger(config, agents.domain)
  const waiter = createTaskWaiter(desk, world)
  const routes = createRoutes({
    config,
    house,
    authenticate: createAuthenticate(config, house, challenger),
    operations: guardOperations(createOperations({ config, house, waiter, cursors: createCursors(desk, world) }), {
      table: readScopeTable(config),
      challenger,
    }),
  })
  const sender = createSender({
    name: 'a2a',
    address: addressAnswer,
    render: renderDelivery,
    describe: describeTask,
    deliver: deliverTask,
  })
  return {
    ...sender,
    routes,
    links: () => [],
    publishedKeys: async () => [],
    release: () => waiter.close(),
  }
}
