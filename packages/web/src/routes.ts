// Routes the requests of the web chat and refuses wrong methods.
import { toProblem, writeProblem } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { createSessionRoutes } from './dialects/session-routes.ts'
import { createStoreRoutes } from './dialects/store-routes.ts'
import type { WebDeps } from './endpoint.ts'
import { answerCors } from './endpoint.ts'
import { createThreadRoutes } from './history/thread-routes.ts'
import type { OperatorRunDeps } from './operator/routes.ts'
import { createOperatorRunRoutes } from './operator/routes.ts'
import { createOwnDecisionRoutes } from './requirements/remembered-decision-routes.ts'
import { createFollowRoutes } from './runs/follow.ts'
import { createRunRoutes } from './runs/routes.ts'
import { createAttachmentRoutes } from './uploads/routes.ts'

/** Creates all routes of the chat, or none when it is disabled. */
export function createWebRoutes(deps: OperatorRunDeps): Hono {
  const routes = new Hono()
  if (!deps.config.enabled) return routes
  for (const path of ['/api/v1/*', '/v1/*', '/storage/v1/*']) routes.use(path, answerCors(deps.config.origins))
  for (const path of ['/v1/*', '/api/v1/agent/attachments']) routes.use(path, refuseWithoutSpace(deps))
  routes.route('/', createRunRoutes(deps))
  routes.route('/', createFollowRoutes(deps))
  routes.route('/', createAttachmentRoutes(deps))
  routes.route('/', createStoreRoutes(deps))
  routes.route('/', createSessionRoutes(deps))
  routes.route('/', createThreadRoutes(deps))
  routes.route('/', createOwnDecisionRoutes(deps))
  routes.route('/', createOperatorRunRoutes(deps))
  refuseWrongMethods(routes)
  return routes
}

const writingMethods: ReadonlySet<string> = new Set(['POST', 'PUT'])

/** Creates the middleware that refuses writes while the disk is almost full. Runs are messages, which admission refuses. */
function refuseWithoutSpace({ gateway }: Pick<WebDeps, 'gateway'>): MiddlewareHandler {
  return async ({ req }, next) => {
    try {
      if (writingMethods.has(req.method)) gateway.checkSpace?.()
    } catch (error) {
      return toProblem(error, gateway.system.log)
    }
    return next()
  }
}

interface KnownPath {
  readonly path: string
  readonly pattern: RegExp
  readonly methods: ReadonlySet<string>
}

/** Answers 405, with the methods that a known path accepts, to any other method. Call it after all other routes are registered. */
function refuseWrongMethods(routes: Hono): void {
  const knownPaths = listPaths(routes)
  for (const { path } of knownPaths) routes.all(path, c => answerWrongMethod(c, knownPaths))
}

/** Lists the paths of the routes with their methods, without middleware. */
function listPaths({ routes }: Hono): readonly KnownPath[] {
  const methodRoutes = routes.filter(({ method }) => method !== 'ALL')
  return [...new Set(methodRoutes.map(({ path }) => path))].map(path => ({
    path,
    pattern: patternOf(path),
    methods: new Set(methodRoutes.filter(route => route.path === path).map(({ method }) => method)),
  }))
}

function patternOf(path: string): RegExp {
  const segments = path.split('/').map(segment => {
    if (segment === '*') return '.*'
    return segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}

/** Answers 405 with the allowed methods of a path, which may match several patterns. */
function answerWrongMethod({ req }: Context, knownPaths: readonly KnownPath[]): Response {
  const methods = new Set(knownPaths.flatMap(({ pattern, methods }) => (pattern.test(req.path) ? [...methods] : [])))
  if (methods.has('GET')) methods.add('HEAD')
  const allow = [...methods].sort().join(', ')
  return writeProblem(405, { code: 'unsupported', detail: `Cannot answer: only ${allow} is allowed here` }, { allow })
}
