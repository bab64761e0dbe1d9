import type { AgentDeps } from '@postern/agents'
import type { Channel, LookupStore, OperatorStore, RelationStore, RequirementStore } from '@postern/core'
import type { MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { createDocumentRoute } from '../api/document-route.ts'
import type { OperatorRoute } from '../api/operation.ts'
import { createOperationRouter } from '../api/router.ts'
import type { ResolvePlatform } from '../resolve/view/platform.ts'
import type { ActionRouteOptions } from './actions/route.ts'
import { createAgentActionRoutes } from './actions/route.ts'
import { createApprovalRoutes } from './approvals/route.ts'
import { createFollowerRoutes } from './followers/route.ts'
import { createKeyRoutes } from './keys/route.ts'
import { createMessageRoutes } from './messages/route.ts'
import type { PeopleRouteOptions } from './people/route.ts'
import { createPeopleRoutes } from './people/route.ts'
import type { RequirementRouteOptions } from './requirements/route.ts'
import { createRequirementRoutes } from './requirements/route.ts'
import { createResolveRoutes } from './resolve/route.ts'
import { createSuppressionRoutes } from './suppressions/route.ts'

export interface OperatorOptions {
  readonly store: OperatorStore &
    RequirementStore &
    Pick<LookupStore, 'readHistory'> &
    Pick<RelationStore, 'listRelations'> &
    PeopleRouteOptions['store']
  readonly agents: Pick<AgentDeps, 'findRunning' | 'find' | 'domain'>
  readonly channels: readonly Channel[]
  /** Lets only the operator past. */
  readonly operatorOnly: MiddlewareHandler
  readonly acting: ActionRouteOptions['acting']
  readonly requirements: RequirementRouteOptions['requirements']
  openResolvePlatform(): ResolvePlatform
  readonly further?: readonly Hono[]
  /** Operations of other parts of the program, and of dev mode. */
  readonly operations?: readonly OperatorRoute[]
}

/** The operator's view of everything that came, was answered, was refused and went out. */
export function createOperatorRoutes({
  store,
  agents,
  channels,
  operatorOnly,
  acting,
  requirements,
  openResolvePlatform,
  further = [],
  operations = [],
}: OperatorOptions): Hono {
  const operationRoutes = [...createMessageRoutes({ store, agents }), ...createKeyRoutes({ channels }), ...operations]
  const routes = new Hono()
    .route('/', createOperationRouter([...operationRoutes, createDocumentRoute(operationRoutes)], operatorOnly))
    .basePath('/operator/api')
    .use(operatorOnly)
    .route('/', createFollowerRoutes({ store, channels }))
    .route('/', createSuppressionRoutes({ store, channels }))
    .route('/', createAgentActionRoutes({ agents, acting }))
    .route('/', createRequirementRoutes({ store, requirements }))
    .route('/', createApprovalRoutes(store))
    .route('/', createPeopleRoutes({ store, agents, channels }))
    .route('/', createResolveRoutes(openResolvePlatform))
  for (const each of further) routes.route('/', each)
  return routes
}
