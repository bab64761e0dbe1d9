import type { AgentDeps } from '@postern/agents'
import type { Channel, LookupStore, OperatorStore, RelationStore, RequirementStore, TraceStore } from '@postern/core'
import type { Hono, MiddlewareHandler } from 'hono'
import { createDocumentRoute } from '../api/openapi.ts'
import type { OperatorRoute } from '../api/operation.ts'
import { createOperationRouter } from '../api/router.ts'
import type { ResolvePlatform } from '../resolve/view/fetched.ts'
import type { ActionRouteOptions } from './actions/route.ts'
import { createAgentActionRoute } from './actions/route.ts'
import { createApprovalRoutes } from './approvals/route.ts'
import { createFollowerRoutes } from './followers/route.ts'
import { createKeyRoutes } from './keys/route.ts'
import { createMessageRoutes } from './messages/route.ts'
import type { PeopleRouteOptions } from './people/route.ts'
import { createPeopleRoutes } from './people/route.ts'
import type { RequirementRouteOptions } from './requirements/route.ts'
import { createRequirementRoutes } from './requirements/route.ts'
import { createResolveRoute } from './resolve/route.ts'
import { createSuppressionRoutes } from './suppressions/route.ts'

export interface OperatorOptions {
  readonly store: OperatorStore &
    RequirementStore &
    Pick<LookupStore, 'readHistory'> &
    Pick<RelationStore, 'listRelations'> &
    Pick<TraceStore, 'findDelivery'> &
    PeopleRouteOptions['store']
  readonly agents: Pick<AgentDeps, 'findRunning' | 'find' | 'domain'>
  readonly channels: readonly Channel[]
  /** Lets only the operator past. */
  readonly operatorOnly: MiddlewareHandler
  readonly acting: ActionRouteOptions['acting']
  readonly requirements: RequirementRouteOptions['requirements']
  openResolvePlatform(): ResolvePlatform
  /** Operations of other parts of the program, and of dev mode. */
  readonly operations?: readonly OperatorRoute[]
}

/** The operator's view of everything that came, was answered, was refused and went out. */
export function createOperatorRoutes(options: OperatorOptions): Hono {
  const routes = [
    ...createMessageRoutes(options),
    ...createRequirementRoutes(options),
    ...createApprovalRoutes(options.store),
    ...createFollowerRoutes(options),
    ...createSuppressionRoutes(options),
    ...createPeopleRoutes(options),
    createAgentActionRoute(options),
    ...createKeyRoutes(options),
    createResolveRoute(options.openResolvePlatform),
    ...(options.operations ?? []),
  ]
  return createOperationRouter([...routes, createDocumentRoute(routes)], options.operatorOnly)
}
