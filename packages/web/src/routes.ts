import { Hono } from 'hono'
import type { WebDeps } from './deps.ts'
import { createSessionRoutes } from './dialects/session-routes.ts'
import { createStoreRoutes } from './dialects/store-routes.ts'
import { answerCors } from './endpoint/cors.ts'
import { refuseWrongMethods } from './endpoint/wrong-method.ts'
import { createThreadRoutes } from './history/thread-routes.ts'
import type { OperatorRunDeps } from './operator/routes.ts'
import { createOperatorRunRoutes } from './operator/routes.ts'
import { createOwnDecisionRoutes } from './requirements/remembered-routes.ts'
import { createRunRoutes } from './runs/routes.ts'
import { createAttachmentRoutes } from './uploads/routes.ts'

/** Absent if nobody can decide. */
type OperatorRouteDeps = Omit<OperatorRunDeps, keyof WebDeps>

/** All routes of the chat, or none when it is disabled. */
export function createWebRoutes(deps: WebDeps, operators: OperatorRouteDeps | undefined): Hono {
  const routes = new Hono()
  if (!deps.config.enabled) return routes
  for (const path of ['/api/v1/*', '/v1/*', '/storage/v1/*']) routes.use(path, answerCors(deps.config.origins))
  routes.route('/', createRunRoutes(deps))
  routes.route('/', createAttachmentRoutes(deps))
  routes.route('/', createStoreRoutes(deps))
  routes.route('/', createSessionRoutes(deps))
  routes.route('/', createThreadRoutes(deps))
  routes.route('/', createOwnDecisionRoutes(deps))
  if (operators) routes.route('/', createOperatorRunRoutes({ ...deps, ...operators }))
  refuseWrongMethods(routes)
  return routes
}
